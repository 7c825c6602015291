import { Controller, Get, Param } from '@nestjs/common'
import { OrdersService } from './orders.service.ts'

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Get(':id')
  find(@Param('id') id: string): Promise<{ id: string; total: number }> {
    return this.orders.find(id)
  }
}
