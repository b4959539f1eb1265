// PDS_ variables of the developer's shell must not reach the tests or the commands they start.
for (const name of Object.keys(process.env)) {
  if (name.startsWith('PDS_')) Reflect.deleteProperty(process.env, name);
}
