// SPDX-License-Identifier: Apache-2.0
// provider.mjs PORT REDIRECT: a provider of OpenID Connect. Everybody may sign in, with any
// password; kim is in two groups.
import Provider from "oidc-provider";

const [port, redirect] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "collector", client_secret: "of-the-collector", redirect_uris: [redirect],
    token_endpoint_auth_method: "client_secret_basic",
  }],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  conformIdTokenClaims: false,
  cookies: { keys: ["of the provider"] },
  pkce: { required: () => false },
  findAccount: (context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id, groups: id === "kim" ? ["staff", "ops"] : [] }),
  }),
});
provider.listen(Number(port), "127.0.0.1");
