import { createShipper } from 'logferry'

export const shipper = createShipper()
