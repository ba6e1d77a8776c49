/** The part of `swagger-ui-dist` that `docs.ts` uses; the package has no types. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  type Options = {
    readonly domNode: HTMLElement;
    readonly url: string;
    readonly validatorUrl: null;
    readonly deepLinking: boolean;
    readonly defaultModelsExpandDepth: number;
    readonly presets: readonly unknown[];
  };
  const SwaggerUI: ((options: Options) => unknown) & { readonly presets: { readonly apis: unknown } };
  export default SwaggerUI;
}
