/**
 * What the MCP SDK takes from its platform. The build puts this in place of the SDK's own choice, which brings 300 KB of a
 * validator for schemas that a client sends. Our tools take none.
 */
export { default as process } from 'node:process'
export { CfWorkerJsonSchemaValidator as DefaultJsonSchemaValidator } from '@modelcontextprotocol/server/validators/cf-worker'
