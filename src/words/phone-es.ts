import type { PHONE_EN } from './phone-en.ts';
import type { Catalogue } from './words.ts';

export const PHONE_ES: Catalogue<keyof typeof PHONE_EN> = {
  linkDead: 'Este enlace ya no funciona: sirve una sola vez y durante 15 minutos. Pide uno nuevo.',
  linkLater: 'El servicio no responde. Revisa tu conexión y vuelve a cargar esta página.',
  givenTitle: 'Tienes un pedido nuevo',
  givenText: 'Abre la página para verlo.',
  takenTitle: 'Un pedido ya no es tuyo',
  takenText: 'Abre la página para ver qué sigue.',
};
