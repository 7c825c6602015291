/** What to do if the directory of a spool cannot be used, by the error code of the disk. */
export const diskRemedies: ReadonlyMap<string, string> = new Map([
  [
    'ENOSPC',
    'The disk is full. Make room, or use a directory on another disk. If the disk has free space, it has too many files (df -i).',
  ],
  ['EDQUOT', 'The quota of this user is used up. Make room, or use a directory on another disk.'],
  ['EFBIG', 'Raise the limit on the size of files (ulimit -f).'],
  ['ERR_FS_FILE_TOO_LARGE', 'No file of logferry is so large. Find out what else writes to this directory.'],
  ['EROFS', 'The file system is read-only. Use a directory on a writable one, in a container that of a volume.'],
  ['EACCES', 'Let the user of the application write to the directory: chown and chmod 700.'],
  ['EPERM', 'Let the user of the application write to the directory: chown and chmod 700.'],
  [
    'ERR_ACCESS_DENIED',
    "Node's permissions forbid the access. Create the directory, and run Node with --allow-fs-read=* and with --allow-fs-write for " +
      'the directory.',
  ],
  [
    'ERR_UNKNOWN_BUILTIN_MODULE',
    'This Node has no SQLite, which locks the directories of a spool. Run Node without --no-experimental-sqlite, or another build.',
  ],
  ['ENOTDIR', 'A part of the path is a file. Choose another path.'],
  ['EEXIST', 'There is a file with this name. Choose another path, or move the file away.'],
  ['ENAMETOOLONG', 'The path is too long. Choose a shorter one.'],
  ['EMFILE', 'This process may open no more files. Raise the limit (ulimit -n).'],
  ['ENOMEM', 'The system has no memory left. Raise the limit of memory (ulimit -v, or that of the container).'],
  ['EIO', 'The disk is damaged, or its connection. Look at the log of the system.'],
  ['ENOTCONN', 'The program behind the file system has ended (FUSE). Mount it again.'],
  ['ESTALE', 'The network file system has lost the directory. Mount it again.'],
])
