/* Functions of policy.c, the reader of policies that `triptych policy export` wrote.
 *
 *   const char *problem;
 *   struct policy *p = policy_open("hopper.tpk", &problem);
 *   if (!p) { fprintf(stderr, "%s\n", problem); exit(1); }
 *   int is_bcq = policy_sizes(p, &states, &actions, &latents);
 *   policy_bc(p, observation, latent, action);
 */
#ifndef TRIPTYCH_POLICY_H
#define TRIPTYCH_POLICY_H
#ifdef __cplusplus
extern "C" {
#endif

/* A policy works in its own memory: one thread each. */
struct policy;

/* The policy of a packed file, or NULL and the reason. */
struct policy *policy_open(const char *path, const char **problem);
void policy_close(struct policy *p);

/* 1 for a policy of BCQ, 0 for one of BC, and 0 with no latents for others. */
int policy_sizes(const struct policy *p, int *states, int *actions, int *latents);

/* Latents are yours to draw: standard normal, clipped to +- this. */
double policy_clip(const struct policy *p);

/* Observations are those of the environment, not normalised; a file of version 2 scales them.
 * Actions lie in the environment's bounds where the file names some (action_low, action_high), else
 * in +-max_action. policy_bcq takes n latents, one after another, and returns which it chose;
 * policy_bc returns 0; both return -1 where the file lacks a network. */
int policy_bc(struct policy *p, const float *observation, const float *latent, float *action);
int policy_bcq(struct policy *p, const float *observation, const float *latents, int n,
               float *action);

#ifdef __cplusplus
}
#endif
#endif
