import type { CallToolResult, McpServer, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { toMessageLine } from '../../text/short-line.ts'
import { Misuse } from '../command.ts'
import { type DevClient, ServiceTrouble } from '../events/dev-client.ts'
import { maxTextChars } from './answer-size.ts'

/** What a tool answers: the data, and the same for clients that show text only. */
export interface ToolAnswer<Output> {
  readonly data: Output
  readonly lines: readonly string[]
}

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
      const { data, lines } = await run(given as never, client, context.mcpReq.signal)
      return { content: [{ type: 'text', text: joined(lines) }], structuredContent: data } as CallToolResult
    } catch (error) {
      if (!(error instanceof ServiceTrouble || error instanceof Misuse)) throw error
      return { content: [{ type: 'text', text: toMessageLine(error.message) }], isError: true } as CallToolResult
    }
  }
  server.registerTool(name, config, callback as never)
}

/** Joins lines as long as they fit. */
function joined(lines: readonly string[]): string {
  let text = ''
  for (const [index, line] of lines.entries()) {
    if (text.length + line.length > maxTextChars) return `${text}… ${lines.length - index} more lines are in the data.`
    text += `${line}\n`
  }
  return text.trimEnd()
}
