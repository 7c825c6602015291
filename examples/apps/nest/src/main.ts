/**
 * A NestJS app whose logger is the Winston logger, by nest-winston. So the events of Nest itself are shipped, too, among
 * them each uncaught error with its cause. Every event of a request carries its trace id, and debug events are shipped
 * only for requests that fail.
 *
 *     npx logferry dev -- npm run nest
 *     curl http://127.0.0.1:3000/orders/42    # ships one event
 *     curl http://127.0.0.1:3000/orders/13    # fails, and ships its debug event as well
 */
import 'reflect-metadata'
import { Logger } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { WinstonModule } from 'nest-winston'
import { AppModule } from './app.module.ts'
import { logger } from './logging.ts'

const app = await NestFactory.create(AppModule, { logger: WinstonModule.createLogger({ instance: logger }) })

// On SIGTERM, Nest finishes the requests under way, calls `onApplicationShutdown`, and raises the signal again.
app.enableShutdownHooks()

await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
new Logger('Main').log(`listening on ${await app.getUrl()}`)
