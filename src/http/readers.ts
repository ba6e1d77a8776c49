import { ServiceError } from '../domain/errors.ts';
import { hasSecretForm } from '../domain/ids.ts';
import type { OrganizationKey } from '../store/accounts/organizations.ts';
import type { RetailerKey } from '../store/accounts/retailers.ts';
import { bearerToken } from '../transport/request.ts';
import type { Authenticator } from './credentials.ts';

/** Who reads orders: a store its own ones, an organization those of its active stores. */
export type StoreReader =
  | {
      readonly kind: 'store';
      /** The store's; its rate and its turns are counted by it. */
      readonly id: string;
      readonly retailerId: string;
      readonly retailerIds: readonly string[];
    }
  | {
      readonly kind: 'organization';
      /** The organization's; the rate and the turns of all its keys are counted by it. */
      readonly id: string;
      readonly organizationId: string;
      /** Its active stores, up to MAX_ORGANIZATION_STORES; it may have none. */
      readonly retailerIds: readonly string[];
    };

/**
 * Authenticates those who may read: stores by their keys, organizations by theirs. Which it is, the key's form
 * says.
 */
export function createReaders(
  stores: Pick<Authenticator<RetailerKey>, 'authenticate'>,
  organizations: Pick<Authenticator<OrganizationKey>, 'authenticate'>,
): Pick<Authenticator<StoreReader>, 'authenticate'> {
  return {
    async authenticate(head) {
      if (hasSecretForm('organization_key', bearerToken(head) ?? '')) {
        const { organizationId, retailerIds } = await organizations.authenticate(head);
        return { kind: 'organization', id: organizationId, organizationId, retailerIds };
      }
      return storeReader(await stores.authenticate(head));
    },
  };
}

/** Authenticates stores, and refuses an organization's key by its right where it is good, not as a wrong one. */
export function createStoresOnly(
  stores: Authenticator<RetailerKey>,
  organizations: Pick<Authenticator<OrganizationKey>, 'authenticate'>,
): Authenticator<RetailerKey> {
  return {
    ...stores,
    async authenticate(head) {
      if (!hasSecretForm('organization_key', bearerToken(head) ?? '')) return stores.authenticate(head);
      await organizations.authenticate(head);
      throw new ServiceError('forbidden', "An organization's key has no right to this. Use a key of the store itself.");
    },
  };
}

/** A store as a reader of its own orders. */
export function storeReader({ retailerId }: Pick<RetailerKey, 'retailerId'>): StoreReader {
  return { kind: 'store', id: retailerId, retailerId, retailerIds: [retailerId] };
}
