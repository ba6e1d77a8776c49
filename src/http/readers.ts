import { hasSecretForm } from '../domain/ids.ts';
import type { OrganizationKey } from '../store/organizations.ts';
import type { RetailerKey } from '../store/retailers.ts';
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

/** A store as a reader of its own orders. */
export function storeReader({ retailerId }: Pick<RetailerKey, 'retailerId'>): StoreReader {
  return { kind: 'store', id: retailerId, retailerId, retailerIds: [retailerId] };
}
