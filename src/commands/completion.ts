import type { Command } from 'commander';
import type { CliCommand } from '../cli/command.ts';
import { oneOf } from '../cli/parts.ts';

const SCRIPTS = { bash: inBash, zsh: inZsh };
const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

/** `completion` */
export function addCompletionCommand(program: CliCommand): void {
  program
    .command('completion <shell>')
    .description(`print the script that completes commands and options in ${SHELLS.join(' or ')}`)
    .runsAlone(async ({ args: [shell = ''], write }) => {
      const script = SCRIPTS[oneOf('The shell', shell, SHELLS)];
      write(script(casesOf(program, '')));
    });
}

/** What may follow the words of a command. */
type Case = { readonly path: string; readonly words: readonly Word[] };
type Word = { readonly word: string; readonly about: string };

/** The groups first, as a command's words begin with those of its group. */
function casesOf(command: Command, path: string): Case[] {
  const words = [
    ...command.commands.map((each) => ({ word: each.name(), about: each.description() })),
    ...command.options.map(({ long, description }) => ({ word: long ?? '', about: description })),
  ];
  return [{ path, words }, ...command.commands.flatMap((each) => casesOf(each, `${path} ${each.name()}`.trim()))];
}

/** Both scripts keep the words of the command that is known so far in `at`. */
const known = (cases: readonly Case[]) => cases.flatMap(({ path }) => (path === '' ? [] : [`"${path}"`])).join('|');

function inBash(cases: readonly Case[]): string {
  const lines = cases.map(({ path, words }) => `    "${path}") words="${words.map(({ word }) => word).join(' ')}" ;;`);
  return `_sameday() {
  local at='' words='' each
  for each in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    each="\${at:+$at }$each"
    case "$each" in ${known(cases)}) at=$each ;; esac
  done
  case "$at" in
${lines.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _sameday sameday`;
}

function inZsh(cases: readonly Case[]): string {
  const quoted = ({ word, about }: Word) => `'${word}:${about.replaceAll("'", "'\\''")}'`;
  const lines = cases.map(({ path, words }) => `    "${path}") found=(${words.map(quoted).join(' ')}) ;;`);
  return `#compdef sameday
_sameday() {
  local at='' each
  local -a found
  for each in "\${(@)words[2,CURRENT-1]}"; do
    each="\${at:+$at }$each"
    case "$each" in ${known(cases)}) at=$each ;; esac
  done
  case "$at" in
${lines.join('\n')}
  esac
  _describe sameday found || _files
}
compdef _sameday sameday`;
}
