/** Options for the fields of a dataset: `fields` of a shipper. `undefined` means the default. Unknown names throw. */
export interface FieldsOptions {
  /**
   * Maximum number of fields per dataset that this process fills. Integer, 20 to 20 000.
   *
   * A field is the dotted path of a value. When a dataset is full, new fields go into the overflow field, as a text of
   * JSON. With `limits`, the lower of this option and the license's `maxFields` applies.
   *
   * @defaultValue none: without `limits`, nothing limits the number of fields
   */
  max?: number | undefined
  /**
   * Groups that become one text each: the JSON of the group. Dotted paths, with or without `.*` at the end: `labels.*`,
   * `attributes.http.headers`. At most 100 paths of 1 to 200 characters; `*` may stand only at the end.
   *
   * The resource and scope of an OpenTelemetry record are not affected.
   *
   * @defaultValue none
   */
  asText?: readonly string[] | undefined
  /**
   * Name of the field for surplus fields. 1 to 200 characters.
   *
   * @defaultValue `limits.overflowField`, or else 'overflow'
   */
  overflowField?: string | undefined
}
