const { runProgram } = await import('./commands/program.ts');
process.exitCode = await runProgram(process.argv.slice(2), process);

export {};
