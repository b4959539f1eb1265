// What the developer's shell has set must not decide what a test sees, here or in a command that it starts.
for (const name of Object.keys(process.env)) {
  if (name.startsWith('PDS_')) Reflect.deleteProperty(process.env, name);
}
