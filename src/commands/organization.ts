import type { CliCommand } from '../cli/command.ts';
import { CommandError } from '../cli/context.ts';
import { Listed, type ListOptions, readPageRequest, readSearch, withListOptions } from '../cli/list.ts';
import { type Confirmed, confirm, known, requireId, text, withYes } from '../cli/parts.ts';
import { newId } from '../domain/ids.ts';
import { MAX_ORGANIZATION_KEYS, MAX_ORGANIZATION_STORES } from '../limits.ts';
import { newKey, readOverlap, withOverlap } from './keys.ts';

const NOT_JOINED = {
  unknown_organization: 'There is no such organization.',
  unknown_store: 'There is no such store.',
  taken: 'That store is of an organization already: retailer show says of which.',
  full: `That organization has ${MAX_ORGANIZATION_STORES} stores, which is the most.`,
} as const;
const TOO_MANY_KEYS = `An organization has at most ${MAX_ORGANIZATION_KEYS} keys that are good. Revoke one first.`;

/** `organization add|set|list|show|add-store|remove-store|create-key|rotate-key|revoke-key` */
export function addOrganizationCommands(program: CliCommand): void {
  const organization = program.command('organization').description('chains of stores, and their keys that read');
  organization
    .command('add <name>')
    .description('add an organization')
    .runs(async ({ store }, [name = '']) => {
      const id = newId();
      await store.addOrganization(id, text('The name', name));
      return { organization_id: id };
    });
  organization
    .command('set <organization_id>')
    .description("correct an organization's name")
    .requiredOption('--name <name>')
    .runs(async ({ store }, [id], options: { name: string }) => {
      const name = text('--name', options.name);
      known((await store.renameOrganization(requireId(id), name)) || null, 'organization');
      return { organization_id: id, name };
    });
  withListOptions(
    organization.command('list').description('list organizations, the newest first'),
    [],
    'a part of the name, or the whole id',
  ).runs(async ({ store }, _args, options: ListOptions) => {
    const search = readSearch<never>(options, []);
    return Listed.rows('organizations', await store.listOrganizations(search, readPageRequest(options)));
  });
  organization
    .command('show <organization_id>')
    .description('show an organization with its keys and stores')
    .runs(async ({ store }, [id]) => known(await store.showOrganization(requireId(id)), 'organization'));
  addMembers(organization);
  addKeys(organization);
}

/** `organization add-store|remove-store` */
function addMembers(organization: CliCommand): void {
  organization
    .command('add-store <organization_id> <retailer_id>')
    .description("add a store; the organization's keys read its orders then")
    .runs(async ({ store }, [id, retailerId]) => {
      const outcome = await store.joinOrganization(requireId(id), requireId(retailerId));
      if (outcome !== 'joined') throw new CommandError(NOT_JOINED[outcome]);
      return { organization_id: id, retailer_id: retailerId };
    });
  withYes(organization.command('remove-store <organization_id> <retailer_id>'))
    .description("take a store out; the organization's keys stop reading its orders within a second")
    .runs(async ({ store }, [id, retailerId], confirmed: Confirmed) => {
      const [organizationId, storeId] = [requireId(id), requireId(retailerId)];
      confirm(
        confirmed,
        'What happens at the store is told to no webhook of the organization until it is added again.',
      );
      const left = await store.leaveOrganization(organizationId, storeId);
      known(left || null, 'store of that organization');
      return { retailer_id: retailerId, organization_id: null };
    });
}

/** `organization create-key|rotate-key|revoke-key` */
function addKeys(organization: CliCommand): void {
  organization
    .command('create-key <organization_id>')
    .description('create a key that reads the orders of all its stores, and is shown once')
    .runs(async (context, [id]) => {
      const { apiKey, key } = newKey(context, 'organization_key');
      const isAdded = known(await context.store.addOrganizationKey(requireId(id), key), 'organization');
      if (!isAdded) throw new CommandError(TOO_MANY_KEYS);
      return { organization_id: id, key_id: key.id, api_key: apiKey };
    });
  withYes(withOverlap(organization.command('rotate-key <organization_id> <key_id>')))
    .description('replace one key of an organization; the new one is shown once')
    .runs(async (context, [id, keyId], { overlap, ...confirmed }: Confirmed & { overlap?: string }) => {
      const seconds = readOverlap(overlap);
      if (seconds === 0) confirm(confirmed, 'This ends the key at once; with --overlap it goes on for a time.');
      const { apiKey, key } = newKey(context, 'organization_key');
      const rotated = await context.store.rotateOrganizationKey(requireId(id), requireId(keyId), key, seconds);
      const until = known(rotated, 'good key of that organization');
      if (until === false) throw new CommandError(TOO_MANY_KEYS);
      return { organization_id: id, key_id: key.id, api_key: apiKey, old_key_until: until };
    });
  withYes(organization.command('revoke-key <organization_id> <key_id>'))
    .description('revoke one key of an organization')
    .runs(async ({ store }, [id, keyId], confirmed: Confirmed) => {
      confirm(confirmed, 'This ends the key for good.');
      const isRevoked = await store.revokeOrganizationKey(requireId(id), requireId(keyId));
      known(isRevoked || null, 'good key of that organization');
      return { organization_id: id, key_id: keyId, revoked: true };
    });
}
