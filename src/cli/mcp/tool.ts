import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { toMessageLine } from '../../text/short-line.ts'
import { Misuse } from '../command.ts'
import { type DevClient, ServiceTrouble } from '../events/dev-client.ts'
import { shortLines } from './answer-size.ts'

/** What a tool answers: the data, and the same for clients that show text only. */
export type ToolAnswer<Output> = { readonly data: Output } & (
  | { readonly lines: readonly string[] }
  | { readonly text: string }
)

/** A tool of the MCP server. Every tool only reads. */
export interface Tool<Input extends StandardSchemaWithJSON, Output extends StandardSchemaWithJSON> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  readonly output: Output
  run(
    input: StandardSchemaWithJSON.InferOutput<Input>,
    client: DevClient,
    signal: AbortSignal,
  ): Promise<ToolAnswer<StandardSchemaWithJSON.InferInput<Output>>>
}

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const

/** Adds a tool to the server. Trouble with the service becomes the answer, because the agent can do something about it. */
export function register<Input extends StandardSchemaWithJSON, Output extends StandardSchemaWithJSON>(
  server: McpServer,
  client: DevClient,
  { name, title, description, input, output, run }: Tool<Input, Output>,
): void {
  const config = { title, description, inputSchema: input, outputSchema: output, annotations }
  const callback = async (given: unknown, context: { readonly mcpReq: { readonly signal: AbortSignal } }) => {
    try {
      const answer = await run(given as never, client, context.mcpReq.signal)
      return {
        content: [{ type: 'text', text: 'text' in answer ? answer.text : shortLines(answer.lines) }],
        structuredContent: answer.data,
      } as CallToolResult
    } catch (error) {
      if (!(error instanceof ServiceTrouble || error instanceof Misuse)) throw error
      return { content: [{ type: 'text', text: toMessageLine(error.message) }], isError: true } as CallToolResult
    }
  }
  server.registerTool(name, config, callback as never)
}
