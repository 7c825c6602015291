import { type MiddlewareConsumer, Module, type NestModule, type OnApplicationShutdown } from '@nestjs/common'
import { transport } from './logging.ts'
import { OrdersController } from './orders.controller.ts'
import { OrdersService } from './orders.service.ts'
import { RequestLogging } from './request-logging.ts'

@Module({ controllers: [OrdersController], providers: [OrdersService] })
export class AppModule implements NestModule, OnApplicationShutdown {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(RequestLogging).forRoutes('{*path}')
  }

  /** Delivers the last events, after the requests under way and before Nest ends the process. */
  async onApplicationShutdown(): Promise<void> {
    await transport.shipper.flush()
  }
}
