import type { CliCommand } from '../cli/command.ts';
import { CommandError } from '../cli/context.ts';
import { Listed, type ListOptions, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { type Confirmed, confirm, known, requireId, text, withYes } from '../cli/parts.ts';
import { newId } from '../domain/ids.ts';
import { addSetWebhook } from '../events/webhook-command.ts';
import { addCardLink } from '../payments/card-link-command.ts';
import { APPLICATION_STATUSES, RETAILER_STATUSES } from '../store/pages.ts';
import { addSetTexts } from '../texts/text-command.ts';
import { addStoreCorrection } from './corrections.ts';
import { addHeldOrders } from './held-orders.ts';
import { addImport } from './import.ts';
import { addRotateKey, newKey } from './keys.ts';
import { type CardOptions, chosenCard, newRetailer, type PlaceOptions, withCard, withPlace } from './new-store.ts';
import { addSetRate, rateInWords } from './rate.ts';

/**
 * `retailer apply|approve|reject|create|set|set-card|card-link|set-webhook|set-rate|set-texts|list|applications|show`
 * and `retailer suspend|activate|rotate-key|import|charge-failed|cancel-waiting`
 */
export function addRetailerCommands(program: CliCommand): void {
  const retailer = program.command('retailer').description('stores: applications, keys, cards');
  addApplications(retailer);
  addCreate(retailer);
  addStoreCorrection(retailer);
  addSetCard(retailer);
  addCardLink(retailer, retailer.act);
  addSetWebhook(retailer, retailer.act);
  addSetRate(retailer);
  addSetTexts(retailer, retailer.act);
  addLists(retailer);
  addStatus(retailer);
  addRotateKey(retailer);
  addImport(retailer);
  addHeldOrders(retailer);
}

/** `retailer apply|approve|reject` */
function addApplications(retailer: CliCommand): void {
  retailer
    .command('apply')
    .description("record a store's application")
    .requiredOption('--name <name>')
    .requiredOption('--address <address>', 'as one line')
    .requiredOption('--email <email>', 'address of the contact')
    .runs(async ({ store }, _args, options: { name: string; address: string; email: string }) => {
      const id = newId();
      const name = text('--name', options.name);
      const address = text('--address', options.address);
      await store.applyRetailer({ id, name, address, contactEmail: text('--email', options.email) });
      return { application_id: id, status: 'applied' };
    });

  withCard(withPlace(retailer.command('approve <application_id>')))
    .description('approve an application; creates the store and its key, which is shown once')
    .runs(async (context, [id], options: CardOptions & PlaceOptions) => {
      const application = known(await context.store.findApplication(requireId(id)), 'application');
      const created = await newRetailer(context, application.name, application.address, options);
      const { apiKey, key } = newKey(context);
      const approved = await context.store.approveApplication(application.id, created, key);
      if (!approved) throw new CommandError(`That application was ${application.status} before.`);
      return { retailer_id: created.id, api_key: apiKey };
    });

  withYes(retailer.command('reject <application_id>'))
    .description('reject an application')
    .requiredOption('--reason <text>', 'kept on record')
    .runs(async ({ store }, [id], { reason, ...confirmed }: Confirmed & { reason: string }) => {
      const [applicationId, kept] = [requireId(id), text('--reason', reason)];
      confirm(confirmed, 'This turns the application down for good.');
      const rejected = await store.rejectApplication(applicationId, kept);
      if (!rejected) throw new CommandError('There is no such open application.');
      return { application_id: id, status: 'rejected' };
    });
}

/** `retailer create` */
function addCreate(retailer: CliCommand): void {
  withYes(withCard(withPlace(retailer.command('create'))))
    .description('create an active store and its key, which is shown once')
    .requiredOption('--name <name>')
    .requiredOption('--address <address>', 'as one line, as its orders will send it')
    .runs(
      async (context, _args, options: CardOptions & PlaceOptions & Confirmed & { name: string; address: string }) => {
        const [name, address] = [text('--name', options.name), text('--address', options.address)];
        const twin = await context.store.findStoreNamed(name, address);
        if (twin) confirm(options, `A store of this name and address is there: ${twin.id}. This makes another one.`);
        const created = await newRetailer(context, name, address, options);
        const { apiKey, key } = newKey(context);
        await context.store.createRetailer(created, key);
        return { retailer_id: created.id, api_key: apiKey };
      },
    );
}

/** `retailer set-card` */
function addSetCard(retailer: CliCommand): void {
  withCard(retailer.command('set-card <retailer_id>'))
    .description('set the card that deliveries are charged to')
    .runs(async (context, [id], options: CardOptions) => {
      const card = chosenCard(context, options);
      if (!card) throw new CommandError('Name the card: --stripe-customer and --payment-method, or --test-card.');
      known((await context.store.setCard(requireId(id), card.customer, card.paymentMethod)) || null, 'store');
      return { retailer_id: id, card: card.paymentMethod === null ? 'none' : 'set' };
    });
}

/** `retailer list|applications|show` */
function addLists(retailer: CliCommand): void {
  withListOptions(
    retailer
      .command('list')
      .description(
        'list stores: with a disabled webhook, without a card, suspended, then the newest; and applications',
      ),
    RETAILER_STATUSES,
    'a part of the name or address, or the whole id',
  ).runs(async ({ store }, _args, options: ListOptions) => {
    const [search, page] = [readSearch(options, RETAILER_STATUSES), readPageRequest(options)];
    const retailers = await store.listRetailers(search, page);
    // They stand beside the first page of all stores.
    const stores = { what: 'stores', page: retailers };
    if (page.after !== null || search.status !== null) return new Listed({ retailers: retailers.rows }, [stores]);
    const applications = await store.listApplications({ ...search, status: 'applied' }, page);
    return new Listed({ retailers: retailers.rows, applications: applications.rows }, [
      stores,
      { what: 'applications', page: applications, command: 'applications' },
    ]);
  });
  withListOptions(
    retailer.command('applications').description('list applications: the open ones, longest first, then the others'),
    APPLICATION_STATUSES,
    'a part of the name, address or e-mail, or the whole id',
  ).runs(async ({ store }, _args, options: ListOptions) => {
    const search = readSearch(options, APPLICATION_STATUSES);
    return Listed.rows('applications', await store.listApplications(search, readPageRequest(options)));
  });
  retailer
    .command('show <id>')
    .description('show a store or an application')
    .runs(async ({ store, config }, [id]) => {
      const shown = known(await store.showRetailer(requireId(id), config.unpaidOrdersAllowed), 'store or application');
      const rate = shown.orders_per_second;
      return rate === undefined ? shown : { ...shown, orders_per_second: rateInWords(rate as number | null) };
    });
}

/** `retailer suspend|activate` */
function addStatus(retailer: CliCommand): void {
  for (const [name, status] of [
    ['suspend', 'suspended'],
    ['activate', 'active'],
  ] as const) {
    retailer
      .command(`${name} <retailer_id>`)
      .description(
        status === 'active'
          ? `${name} a store; once it returns, the store can create orders, and its waiting ones get drivers`
          : `${name} a store; once it returns, the store cannot create orders, and its waiting ones get no driver`,
      )
      .runs(async ({ store }, [id]) => {
        known((await store.setRetailerStatus(requireId(id), status)) || null, 'store');
        return { retailer_id: id, status };
      });
  }
}
