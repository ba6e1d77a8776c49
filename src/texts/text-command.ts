import type { Command } from 'commander';
import { CommandError, type Context } from '../cli/context.ts';
import { type Act, known, requireId } from '../cli/parts.ts';
import { OPTIONAL_TEXTS, type OptionalText } from '../domain/customer-text.ts';
import { isPhone } from '../domain/phone.ts';

/** `retailer set-texts` */
export function addSetTexts(retailer: Command, act: Act): void {
  retailer
    .command('set-texts <retailer_id>')
    .description('set the texts that its customers get beside the tracking link, for what happens from now on')
    .requiredOption('--kinds <list>', `${OPTIONAL_TEXTS.join(',')}, or some of them; none for none`)
    .action(
      act(async ({ store }, [id], options: { kinds: string }) => {
        const kinds = readKinds(options.kinds);
        known((await store.setTextKinds(requireId(id), kinds)) || null, 'store');
        return { retailer_id: id, text_kinds: kinds };
      }),
    );
}

function readKinds(list: string): OptionalText[] {
  if (list === 'none') return [];
  const named = list.split(',').map((name) => name.trim());
  const kinds = OPTIONAL_TEXTS.filter((kind) => named.includes(kind));
  if (kinds.length !== named.length) {
    throw new CommandError(`--kinds is none, or of ${OPTIONAL_TEXTS.join(', ')} each once, with commas between.`);
  }
  return kinds;
}

/** `text status|opt-out|opt-in` */
export function addTextCommands(program: Command, act: Act): void {
  const text = program.command('text').description('phones that want no texts');
  text
    .command('status <phone>')
    .description('show whether a phone may be texted, and who said so')
    .action(act(async ({ store }, [phone]) => statusOf(store, requirePhone(phone))));
  for (const [name, optedOut, what] of [
    ['opt-out', true, 'text a phone no more'],
    ['opt-in', false, 'text a phone again whose owner asks for it; START to the sending number does the same'],
  ] as const) {
    text
      .command(`${name} <phone>`)
      .description(what)
      .action(
        act(async ({ store }, [phone]) => {
          await store.setOptOut(requirePhone(phone), optedOut, null);
          return statusOf(store, requirePhone(phone));
        }),
      );
  }
}

/** The phone is not printed: the output may be kept where its number must not be. */
async function statusOf(store: Context['store'], phone: string) {
  const found = await store.findOptOut(phone);
  return {
    opted_out: found?.optedOut ?? false,
    source: found?.source ?? null,
    changed_at: found?.changedAt ?? null,
  };
}

function requirePhone(text: string | undefined): string {
  if (text === undefined || !isPhone(text)) {
    throw new CommandError('The phone is in E.164: +, the country and the number, digits alone.');
  }
  return text;
}
