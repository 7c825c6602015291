import { setTimeout as sleep } from 'node:timers/promises'
import { Injectable, Logger } from '@nestjs/common'

@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name)

  async find(id: string): Promise<{ id: string; total: number }> {
    this.logger.debug({ message: 'order is not in the cache', order: { id } })
    await sleep(100)
    if (id === '13') throw new Error('the database is away', { cause: new Error('ECONNREFUSED') })
    return { id, total: 99.5 }
  }
}
