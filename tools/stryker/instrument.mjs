// node instrument.mjs FILE: the file with all mutants in it, each switched on by its number in
// `__stryker__.activeMutant`, and what each of them is, as JSON.
import { readFileSync } from "node:fs";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { allMutators } from "./node_modules/@stryker-mutator/instrumenter/dist/src/mutators/mutate.js";

// Stryker leaves numbers alone.
allMutators.push({
  name: "Number",
  *mutate({ node }) {
    if (node.type === "NumericLiteral") yield { ...node, value: node.value + 1, extra: undefined };
  },
});
const quiet = { debug() {}, info() {}, warn: console.error, isDebugEnabled: () => false };
const name = process.argv[2];
const file = { name, mutate: true, content: readFileSync(name, "utf8") };
const options = { plugins: null, excludedMutations: [], ignorers: [] };
console.log(JSON.stringify(await new Instrumenter(quiet).instrument([file], options)));
