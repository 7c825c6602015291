/**
 * The Express app under pm2, in two processes that share a port.
 *
 *     npx logferry dev -- npm run pm2
 *     curl http://127.0.0.1:3000/orders/42
 */
module.exports = {
  apps: [
    {
      name: 'express',
      script: 'express/server.ts',
      exec_mode: 'cluster',
      instances: 2,
      // Time from SIGINT to SIGKILL. The default of pm2 (1.6 s) is shorter than the delivery of the last events may take.
      kill_timeout: 10_000,
    },
  ],
}
