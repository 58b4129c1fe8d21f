// Runs compile.py in Pyodide, whose Python is the pages': node compile.mjs FOLDER
import { readFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.mountNodeFS("/files", process.argv[2]);
python.runPython(readFileSync(new URL("compile.py", import.meta.url), "utf-8"));
