/** Reads names and docstrings from the source, for the tables of the documentation. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ESTree, parseSync } from 'rolldown/utils'

/** A member of a type, a constant or a union, with its docstring. */
export interface Member {
  readonly name: string
  /** The first paragraph of the docstring, on one line. */
  readonly text: string
  /** What the docstring says after `@defaultValue`, on one line, or an empty text. */
  readonly defaultText: string
}

/** A member of an interface whose type is a function of one parameter, such as a listener. */
export interface ListenerMember {
  readonly name: string
  /** The type of the parameter. */
  readonly parameter: Declared
}

/** A type or a constant that a file of the source declares. */
export interface Declared {
  readonly file: SourceFile
  readonly name: string
}

type Statement = ESTree.Program['body'][number]
type Declaration = ESTree.TSInterfaceDeclaration | ESTree.TSTypeAliasDeclaration | ESTree.VariableDeclaration
type Node = { readonly start: number; readonly end: number }

const files = new Map<string, SourceFile>()

/** Returns a file of the source. Each is read once. */
export function sourceFile(url: URL): SourceFile {
  const known = files.get(url.href)
  if (known !== undefined) return known
  const file = new SourceFile(url)
  files.set(url.href, file)
  return file
}

/** A file of the source, and what it declares. */
export class SourceFile {
  readonly #url: URL
  readonly #source: string
  readonly #statements: readonly Statement[]
  /** The docstrings, by the position where each ends. */
  readonly #docstrings: readonly { readonly end: number; readonly value: string }[]

  constructor(url: URL) {
    this.#url = url
    this.#source = readFileSync(url, 'utf8')
    const { program, comments, errors } = parseSync(fileURLToPath(url), this.#source)
    if (errors.length > 0) throw new Error(`${url.pathname} cannot be parsed: ${errors[0]?.message}`)
    this.#statements = program.body
    this.#docstrings = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
  }

  /** Returns the docstring of a declaration. */
  textOf(name: string): string {
    return firstParagraph(this.#docstringOf(this.#statementOf(name), name))
  }

  /** Returns the members of a union of texts, an interface, or a constant that is an object. */
  membersOf(name: string): Member[] {
    const members = this.#namedNodes(name).map(([member, node]) => {
      const docstring = this.#docstringOf(node, `${name}.${member}`)
      return { name: member, text: firstParagraph(docstring), defaultText: defaultIn(docstring) }
    })
    if (members.length === 0) throw new Error(`${this.#url.pathname}: ${name} has no members`)
    return members
  }

  /** Returns the members of an interface of listeners. */
  listenersOf(name: string): ListenerMember[] {
    const { body } = this.#declarationOf(name) as ESTree.TSInterfaceDeclaration
    return body.body.map(member => {
      const key = nameOfKey(member)
      const type = (member as ESTree.TSPropertySignature).typeAnnotation?.typeAnnotation
      const parameter = type?.type === 'TSFunctionType' ? type.params[0] : undefined
      const parameterType = parameter?.type === 'Identifier' ? parameter.typeAnnotation?.typeAnnotation : undefined
      if (parameterType?.type !== 'TSTypeReference' || parameterType.typeName.type !== 'Identifier')
        throw new Error(`${name}.${key} is no function of one parameter with a named type`)
      return { name: key, parameter: this.#resolve(parameterType.typeName.name) }
    })
  }

  #namedNodes(name: string): [name: string, node: Node][] {
    const declaration = this.#declarationOf(name)
    if (declaration.type === 'TSInterfaceDeclaration') {
      return declaration.body.body.map(member => [nameOfKey(member), member])
    }
    if (declaration.type === 'TSTypeAliasDeclaration') return textsOf(declaration.typeAnnotation)
    const object = unwrapped(declaration.declarations[0]?.init)
    return object?.type === 'ObjectExpression' ? object.properties.map(member => [nameOfKey(member), member]) : []
  }

  /** Finds the declaration of a name in this file, or else in the file from which it is imported. */
  #resolve(name: string): Declared {
    for (const statement of this.#statements) {
      if (statement.type !== 'ImportDeclaration') continue
      if (!statement.specifiers.some(({ local }) => local.name === name)) continue
      return { file: sourceFile(new URL(statement.source.value, this.#url)), name }
    }
    return { file: this, name }
  }

  #statementOf(name: string): Statement {
    const found = this.#statements.find(statement => {
      const declaration = declarationIn(statement)
      return declaration !== undefined && nameOf(declaration) === name
    })
    if (found === undefined) throw new Error(`${this.#url.pathname} does not export ${name}`)
    return found
  }

  #declarationOf(name: string): Declaration {
    return declarationIn(this.#statementOf(name)) as Declaration
  }

  /** @throws Error if the node has no docstring: a table would have an empty cell */
  #docstringOf({ start }: Node, name: string): string {
    const before = this.#docstrings.findLast(({ end }) => end <= start)
    const isOfNode = before !== undefined && /^[\s|]*$/.test(this.#source.slice(before.end, start))
    if (!isOfNode) throw new Error(`${this.#url.pathname}: ${name} has no docstring`)
    return withoutStars(before.value)
  }
}

function declarationIn(statement: Statement): Declaration | undefined {
  const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : undefined
  const type = declaration?.type
  const isKnown =
    type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration' || type === 'VariableDeclaration'
  return isKnown ? (declaration as Declaration) : undefined
}

function nameOf(declaration: Declaration): string | undefined {
  if (declaration.type !== 'VariableDeclaration') return declaration.id.name
  const id = declaration.declarations[0]?.id
  return id?.type === 'Identifier' ? id.name : undefined
}

function nameOfKey(member: object): string {
  const { key } = member as { key?: { name?: unknown; value?: unknown } }
  return String(key?.name ?? key?.value)
}

/** Returns the expression within `as const` and `satisfies`. */
function unwrapped(expression: ESTree.Expression | null | undefined): ESTree.Expression | null | undefined {
  return expression?.type === 'TSSatisfiesExpression' || expression?.type === 'TSAsExpression'
    ? unwrapped(expression.expression)
    : expression
}

function textsOf(type: ESTree.TSTypeAliasDeclaration['typeAnnotation']): [name: string, node: Node][] {
  if (type.type !== 'TSUnionType') return []
  return type.types.flatMap(member => {
    if (member.type !== 'TSLiteralType' || member.literal.type !== 'Literal') return []
    return [[String(member.literal.value), member]]
  })
}

/** Returns the text of a docstring, without the stars at the beginnings of its lines. */
function withoutStars(docstring: string): string {
  const lines = docstring
    .slice(1)
    .split('\n')
    .map(line => line.replace(/^\s*\*? ?/, '').trimEnd())
  return lines.join('\n').trim()
}

function firstParagraph(docstring: string): string {
  const [paragraph = ''] = docstring.split(/\n\n|\s@/)
  return paragraph.replaceAll('\n', ' ')
}

function defaultIn(docstring: string): string {
  return /@defaultValue\s+(.*?)(?=\n@|\n\n|$)/s.exec(docstring)?.[1]?.replaceAll('\n', ' ') ?? ''
}
