/* Act with a policy that `triptych policy export` wrote: what policy.h declares. Needs libc and libm,
 * nothing else.
 *
 *   cc -std=c99 -O2 -march=native -c policy.c              to link with -lm into your program
 *   cc -std=c99 -O2 -march=native -shared -fPIC policy.c -o libpolicy.so -lm
 *                                                                      for any other language
 *
 * -march=native for the vectors of the processor at hand: without it an act takes three times as
 * long. It needs a compiler with vector_size (gcc, clang).
 * Only the weights that pruning left are kept and multiplied. The format: docs/packed-format.md.
 */
#include "policy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRIP = 16, MOST = 1 << 14 };  /* units of a layer */
typedef float strip __attribute__((vector_size(STRIP * sizeof(float)), aligned(4)));
/* Read in compressed rows, then kept in strips of outputs (in_strips). */
struct layer { int in, out, *start, *column; float *value, *bias; };
struct policy {
    struct layer layers[3][3];      /* decoder, actor, critic */
    int has[3], is_bcq, states, actions, latents;
    double max_action, phi, clip;
    float *work[4];                 /* two hidden layers, inputs, candidate */
    float *seen[2];                 /* shift and scale of observations, or NULL */
    int sizes[2];                   /* of these */
    float *bounds;                  /* of actions: all low, then all high ones, or NULL */
};
static const char *const NAMES[3][3] = {{"vae.d1", "vae.d2", "vae.d3"},
                                        {"actor.l1", "actor.l2", "actor.l3"},
                                        {"critic.l1", "critic.l2", "critic.l3"}};

static const char *const SEEN[2] = {"observations.shift", "observations.scale"};

static uint64_t little(const uint8_t *p, int bytes) {
    uint64_t value = 0;
    while (bytes--) value = value << 8 | p[bytes];
    return value;
}

/* ---- SHA-256 (FIPS 180-4); the constants are fractions of roots of primes ---- */

static uint32_t turned(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha256_block(uint32_t h[8], const uint32_t k[64], const uint8_t *p) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 64; i++) {
        if (i < 16) {
            w[i] = (uint32_t)p[4*i] << 24 | (uint32_t)p[4*i+1] << 16 | (uint32_t)p[4*i+2] << 8
                 | p[4*i+3];
            continue;
        }
        uint32_t a = w[i-15], b = w[i-2];
        w[i] = w[i-16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[i-7]
             + (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0], e = v[4];
        uint32_t one = v[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25))
                     + ((e & v[5]) ^ (~e & v[6])) + k[i] + w[i];
        uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22))
                     + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

/* The first 32 bits behind the point of a square or cube root; 50 of them are right. */
static uint32_t root(int prime, int power) {
    double start = power == 2 ? sqrt(prime) : cbrt(prime);
    return (uint32_t)floor((start - floor(start)) * 4294967296.0);
}

static int sha256_is(const uint8_t *data, size_t length, const uint8_t *digest) {
    uint32_t h[8], k[64];
    for (int prime = 2, i = 0; i < 64; prime++) {
        int divisor = 2;
        while (prime % divisor) divisor++;
        if (divisor < prime) continue;
        k[i] = root(prime, 3);
        if (i < 8) h[i] = root(prime, 2);
        i++;
    }
    size_t whole = length / 64 * 64, rest = length - whole;
    uint8_t last[128] = {0};
    if (rest) memcpy(last, data + whole, rest);
    last[rest] = 0x80;
    int blocks = rest < 56 ? 1 : 2;
    for (int i = 0; i < 8; i++)
        last[64 * blocks - 1 - i] = (uint8_t)((uint64_t)length * 8 >> 8 * i);
    for (size_t at = 0; at < whole; at += 64) sha256_block(h, k, data + at);
    for (int i = 0; i < blocks; i++) sha256_block(h, k, last + 64 * i);
    for (int i = 0; i < 32; i++)
        if (digest[i] != (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)))) return 0;
    return 1;
}

/* ---- inflate (RFC 1951) of a zlib stream (RFC 1950), bit by bit; the digest has passed ---- */

struct stream {
    const uint8_t *in;
    size_t length, at, size, made;
    uint8_t *out;
    uint32_t hold;
    int held, bad;
};
struct code { short count[16], symbol[288]; };

static int take(struct stream *s, int bits) {
    while (s->held < bits) {
        if (s->at >= s->length) { s->bad = 1; return 0; }
        s->hold |= (uint32_t)s->in[s->at++] << s->held;
        s->held += 8;
    }
    int value = (int)(s->hold & ((1u << bits) - 1));
    s->hold >>= bits;
    s->held -= bits;
    return value;
}

static void canonical(struct code *code, const uint8_t *lengths, int n) {
    short place[16] = {0};
    memset(code->count, 0, sizeof code->count);
    for (int i = 0; i < n; i++) code->count[lengths[i]]++;
    code->count[0] = 0;
    for (int i = 1; i < 15; i++) place[i + 1] = (short)(place[i] + code->count[i]);
    for (int i = 0; i < n; i++)
        if (lengths[i]) code->symbol[place[lengths[i]]++] = (short)i;
}

static int symbol(struct stream *s, const struct code *code) {
    int value = 0, first = 0, index = 0;
    for (int length = 1; length < 16 && !s->bad; length++) {
        value |= take(s, 1);
        int count = code->count[length];
        if (value - first < count) return code->symbol[index + value - first];
        index += count;
        first = (first + count) << 1;
        value <<= 1;
    }
    s->bad = 1;
    return 256;
}

static void put(struct stream *s, uint8_t byte) {
    if (s->made < s->size) s->out[s->made++] = byte;
    else s->bad = 1;
}

static void codes(struct stream *s, struct code *literals, struct code *distances) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5,
                                      11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[320] = {0}, own[19] = {0};
    struct code coding;
    int n = take(s, 5) + 257, m = take(s, 5) + 1, given = take(s, 4) + 4;
    for (int i = 0; i < given; i++) own[order[i]] = (uint8_t)take(s, 3);
    canonical(&coding, own, 19);
    for (int i = 0; i < n + m && !s->bad;) {
        int sign = symbol(s, &coding), repeat = 1, length = sign;
        if (sign == 16) { length = i ? lengths[i - 1] : 0; repeat = 3 + take(s, 2); }
        else if (sign > 16) { length = 0; repeat = sign == 17 ? 3 + take(s, 3) : 11 + take(s, 7); }
        if (i + repeat > n + m || n > 286) { s->bad = 1; return; }
        while (repeat--) lengths[i++] = (uint8_t)length;
    }
    canonical(literals, lengths, n);
    canonical(distances, lengths + n, m);
}

static void fixed(struct code *literals, struct code *distances) {
    uint8_t lengths[288];
    for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    canonical(literals, lengths, 288);
    memset(lengths, 5, 30);
    canonical(distances, lengths, 30);
}

static void compressed(struct stream *s, const struct code *literals,
                       const struct code *distances) {
    while (!s->bad) {
        int sign = symbol(s, literals);
        if (sign < 256) { put(s, (uint8_t)sign); continue; }
        if (sign == 256) return;
        int l = sign - 257, extra = l < 8 || l == 28 ? 0 : l / 4 - 1;
        int length = l == 28 ? 258 : l < 8 ? l + 3 : ((4 + l % 4) << extra) + 3 + take(s, extra);
        int d = symbol(s, distances);
        extra = d < 4 ? 0 : d / 2 - 1;
        size_t back = d > 29 ? 0 : d < 4 ? (size_t)d + 1
                    : ((size_t)(2 + d % 2) << extra) + 1 + (size_t)take(s, extra);
        if (!back || back > s->made) { s->bad = 1; return; }
        while (length--) put(s, s->out[s->made - back]);
    }
}

static int inflate_into(const uint8_t *in, size_t length, uint8_t *out, size_t size) {
    struct stream s = {in, length, 2, size, 0, out, 0, 0, length < 6};
    for (int last = 0; !last && !s.bad;) {
        struct code literals, distances;
        last = take(&s, 1);
        int kind = take(&s, 2);
        if (kind == 0) {
            s.hold = 0, s.held = 0;
            size_t count = s.at + 4 <= length ? little(in + s.at, 2) : length;
            s.at += 4;
            if (s.at + count > length) return 0;
            while (count--) put(&s, in[s.at++]);
            continue;
        }
        if (kind == 1) fixed(&literals, &distances);
        else if (kind == 2) codes(&s, &literals, &distances);
        else return 0;
        if (!s.bad) compressed(&s, &literals, &distances);
    }
    return !s.bad && s.made == size;
}

/* ---- JSON, as far as a header needs it; the text ends with a zero byte ---- */

static const char *blank(const char *p) { while (*p && strchr(" \t\r\n", *p)) p++; return p; }

static const char *after(const char *p) { /* the value that begins at p */
    int depth = 0;
    do {
        p = blank(p);
        if (*p == '"') {
            for (p++; *p && *p != '"'; p++) if (*p == '\\' && p[1]) p++;
            if (*p) p++;
        } else if (*p == '{' || *p == '[') depth++, p++;
        else if (*p == '}' || *p == ']') depth--, p++;
        else if (depth && (*p == ',' || *p == ':')) p++;
        else while (*p && !strchr(",:]}", *p)) p++;
    } while (depth > 0 && *p);
    return p;
}

static const char *member(const char *object, const char *key) { /* its value, or NULL */
    size_t length = strlen(key);
    const char *p = object ? blank(object) : "";
    if (*p++ != '{') return NULL;
    while (*(p = blank(p)) == '"') {
        const char *end = after(p), *value = blank(end);
        if (*value++ != ':') return NULL;
        if ((size_t)(end - p) == length + 2 && !strncmp(p + 1, key, length)) return blank(value);
        p = blank(after(value));
        if (*p == ',') p++;
    }
    return NULL;
}

static int is_text(const char *value, const char *text) {
    size_t n = strlen(text);
    return value && *value == '"' && !strncmp(value + 1, text, n) && value[n + 1] == '"';
}

/* The number of JSON's grammar that begins at p, NAN for anything else; strtod heeds the locale. */
static double number(const char *p) {
    double value = 0, sign = 1;
    int exponent = 0, written = 0, down = 0;
    if (!p) return NAN;
    if (*p == '-') sign = -1, p++;
    if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9')) return NAN;
    for (; *p >= '0' && *p <= '9'; p++) value = 10 * value + (*p - '0');
    if (*p == '.') {
        if (*++p < '0' || *p > '9') return NAN;
        for (; *p >= '0' && *p <= '9'; p++) {
            if (exponent > -40) value = 10 * value + (*p - '0'), exponent--;
        }
    }
    if (*p == 'e' || *p == 'E') {
        if (*++p == '-' || *p == '+') down = *p++ == '-';
        if (*p < '0' || *p > '9') return NAN;
        for (; *p >= '0' && *p <= '9'; p++) if (written < 1000) written = 10 * written + (*p - '0');
    }
    if (!*p || !strchr(" \t\r\n,]}", *p)) return NAN;
    exponent += down ? -written : written;
    value = exponent < 0 ? value / pow(10, -exponent) : value * pow(10, exponent);
    return isfinite(value) ? sign * value : NAN;
}

/* A whole number from 0 to most, or -1. */
static long whole(const char *p, long most) {
    double value = number(p);
    return value >= 0 && value <= most && value == floor(value) ? (long)value : -1;
}

/* A setting above 0 and below 1e6, or `otherwise` where there is none; 0 for anything else. */
static double setting(const char *settings, const char *key, double otherwise) {
    const char *p = member(settings, key);
    double value = number(p);
    return !p ? otherwise : value > 0 && value < 1e6 ? value : 0;
}

/* Whether a list holds exactly so many numbers, which go to `into`. */
static int list(const char *p, float *into, int count) {
    if (!p || *p++ != '[') return 0;
    for (int i = 0; i < count; i++) {
        p = blank(p);
        if (!isfinite(into[i] = (float)number(p))) return 0;
        p = blank(after(p));
        if (*p++ != (i < count - 1 ? ',' : ']')) return 0;
    }
    return 1;
}

/* ---- the file ---- */

static float half(unsigned h) {
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double value = exponent == 31 ? HUGE_VAL
                 : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return (float)(h >> 15 ? -value : value);
}

static float real(const uint8_t *p, int bytes) {
    uint32_t bits = (uint32_t)little(p, bytes);
    float value;
    if (bytes == 2) return half(bits);
    memcpy(&value, &bits, 4);
    return value;
}

/* Keep the values of a weight [out, in] in compressed rows; NULL or what is wrong. */
static const char *weight(struct layer *l, const uint8_t *bits, const uint8_t *values, size_t count,
                          int bytes) {
    size_t k = 0;
    l->start = malloc(((size_t)l->out + 1) * sizeof *l->start);
    l->column = malloc((count + 1) * sizeof *l->column);
    l->value = malloc((count + 1) * sizeof *l->value);
    if (!l->start || !l->column || !l->value) return "no memory";
    for (int row = 0; row < l->out; row++) {
        l->start[row] = (int)k;
        for (int column = 0; column < l->in; column++) {
            size_t i = (size_t)row * l->in + column;
            if (!(bits[i / 8] >> i % 8 & 1)) continue;
            if (k == count) return "a mask and its values disagree";
            l->column[k] = column;
            l->value[k] = real(values + k * bytes, bytes);
            if (!isfinite(l->value[k++])) return "a weight is not finite";
        }
    }
    l->start[l->out] = (int)k;
    return k == count ? NULL : "a mask and its values disagree";
}

static const char *array(struct policy *p, const char *entry, const uint8_t **at,
                         const uint8_t *end, int bytes) {
    const char *name = member(entry, "name"), *shape = member(entry, "shape");
    const char *mask = member(entry, "mask");
    long sizes[2] = {1, 1}, dimensions = 0, room = (long)(end - *at);
    long count = whole(member(entry, "values"), room / bytes);
    long packed = mask ? whole(member(entry, "mask_bytes"), room) : 0;
    if (!name || !shape || *shape != '[' || count < 0 || packed < 0)
        return "an array of its header is incomplete, or its payload shorter";
    for (const char *q = blank(shape + 1); *q && *q != ']'; dimensions++) {
        long size = whole(q, 1 << 28);
        if (size < 0) return "a size is not a whole number up to 2^28";
        if (dimensions < 2) sizes[dimensions] = size;
        q = blank(after(q));
        if (*q == ',') q = blank(q + 1);
    }
    long block_bytes = (packed + 7) / 8 * 8, value_bytes = (count * bytes + 7) / 8 * 8;
    if (block_bytes > room || value_bytes > room - block_bytes)
        return "its payload is shorter than its arrays";
    const uint8_t *block = *at, *values = block + block_bytes;
    *at = values + value_bytes;
    for (int i = 0; i < 2; i++) {
        if (!is_text(name, SEEN[i])) continue;
        if (dimensions != 1 || mask || sizes[0] != count || count < 1 || count > MOST || p->seen[i])
            return "a scaling of observations is not as it should be";
        if (!(p->seen[i] = malloc((size_t)count * sizeof(float)))) return "no memory";
        p->sizes[i] = (int)count;
        for (long k = 0; k < count; k++)
            if (!isfinite(p->seen[i][k] = real(values + k * bytes, bytes)))
                return "a scaling of observations is not finite";
    }
    for (int n = 0; n < 9; n++) {
        struct layer *l = &p->layers[n / 3][n % 3];
        char full[32];
        sprintf(full, "%s.bias", NAMES[n / 3][n % 3]);
        if (is_text(name, full)) {
            if (dimensions != 1 || mask || sizes[0] != count || count < 1 || count > MOST || l->bias)
                return "a bias is not as it should be";
            if (!(l->bias = malloc(((size_t)count + 1) * sizeof *l->bias))) return "no memory";
            for (long i = 0; i < count; i++)
                if (!isfinite(l->bias[i] = real(values + i * bytes, bytes)))
                    return "a bias is not finite";
            p->has[n / 3] += 1;
            if (!l->start) l->out = (int)count;
            else if (l->out != count) return "a weight and its bias do not fit";
        }
        sprintf(full, "%s.weight", NAMES[n / 3][n % 3]);
        if (is_text(name, full)) {
            if (dimensions != 2 || !mask || sizes[0] < 1 || sizes[1] < 1 || sizes[0] > MOST
                || sizes[1] > MOST || l->start)
                return "a weight is not as it should be";
            if (l->bias && l->out != sizes[0])
                return "a weight and its bias do not fit";
            l->out = (int)sizes[0], l->in = (int)sizes[1];
            size_t size = ((size_t)sizes[0] * (size_t)sizes[1] + 7) / 8;
            uint8_t *bits = calloc(size + 1, 1);
            int good = 0;
            if (!bits) return "no memory";
            if (is_text(mask, "zlib")) good = inflate_into(block, (size_t)packed, bits, size);
            else if (is_text(mask, "raw") && (size_t)packed == size)
                good = 1, memcpy(bits, block, size);
            const char *problem = "a mask cannot be read";
            if (good) problem = weight(l, bits, values, (size_t)count, bytes);
            free(bits);
            if (problem) return problem;
            p->has[n / 3] += 1;
        }
    }
    return NULL;
}

/* From compressed rows to strips of STRIP outputs: each input that reaches any of them is one entry,
 * its column and a vector of STRIP weights. Outputs of hidden layers are put in the order of how many
 * inputs they have, so that strips are full or empty; *places says where the inputs have been put
 * (NULL: nowhere else), and then where the outputs are. 0 where there is no memory. */
static int in_strips(struct layer *l, int **places, int is_hidden) {
    int strips = (l->out + STRIP - 1) / STRIP, n = 0, *first = l->start;
    size_t count = (size_t)l->start[l->out] + 1, room = (size_t)strips * STRIP;
    int *start = malloc(((size_t)strips + 1) * sizeof *start), *put = malloc(room * sizeof *put);
    int *column = malloc(count * sizeof *column), *row_of = malloc(room * sizeof *row_of);
    int *entry = malloc((size_t)l->in * sizeof *entry);
    float *value = calloc(count * STRIP, sizeof *value), *bias = calloc(room, sizeof *bias);
    int good = start && put && column && row_of && entry && value && bias;
    for (int row = 0; good && row < l->out; row++) {
        int own = first[row + 1] - first[row];
        put[row] = is_hidden ? 0 : row;
        for (int other = 0; is_hidden && other < l->out; other++) {
            int many = first[other + 1] - first[other];
            put[row] += many > own || (many == own && other < row);
        }
        row_of[put[row]] = row;
        bias[put[row]] = l->bias[row];
    }
    for (int place = 0; good && place < l->out; place++) {
        int row = row_of[place];
        if (place % STRIP == 0) {
            start[place / STRIP] = n;
            for (int i = 0; i < l->in; i++) entry[i] = -1;
        }
        for (int k = first[row]; k < first[row + 1]; k++) {
            int input = *places ? (*places)[l->column[k]] : l->column[k];
            if (entry[input] < 0) column[entry[input] = n++] = input;
            value[(size_t)entry[input] * STRIP + place % STRIP] = l->value[k];
        }
    }
    if (good) {
        start[strips] = n;
        free(l->start), free(l->column), free(l->value), free(l->bias), free(*places);
        l->start = start, l->column = column, l->value = value, l->bias = bias, *places = put;
    } else free(start), free(column), free(value), free(bias), free(put);
    free(row_of), free(entry);
    return good;
}

static const char *fits(struct policy *p, const char *settings) {
    int widest = 1, *const has = p->has;
    for (int n = 0; n < 3; n++) {
        has[n] = has[n] == 6;
        struct layer *l = p->layers[n];
        if (has[n] && (l[1].in != l[0].out || l[2].in != l[1].out))
            return "its layers do not fit together";
        for (int i = 0; has[n] && i < 3; i++) {
            if (l[i].in > widest) widest = l[i].in;
            if (l[i].out > widest) widest = l[i].out;
        }
    }
    const char *algorithm = member(settings, "algorithm");
    int alone = algorithm && !is_text(algorithm, "BCQ") && !is_text(algorithm, "BC") && has[1];
    if (alone) { /* its actor does what a decoder does, of no latents */
        struct layer decoder[3];
        memcpy(decoder, p->layers[0], sizeof decoder);
        memcpy(p->layers[0], p->layers[1], sizeof decoder);
        memcpy(p->layers[1], decoder, sizeof decoder);
        has[0] = 1, has[1] = has[2] = 0;
    }
    if (!has[0]) return "it has no decoder, with which policies act";
    p->is_bcq = algorithm ? is_text(algorithm, "BCQ") : has[1] && has[2];
    if (p->is_bcq && !(has[1] && has[2])) return "it is of BCQ and lacks the actor or Q1";
    p->actions = p->layers[0][2].out, p->latents = alone ? 0 : 2 * p->actions;
    p->states = p->layers[0][0].in - p->latents;
    int joint = p->states + p->actions;
    if (p->states < 1
        || (has[1] && (p->layers[1][0].in != joint || p->layers[1][2].out != p->actions))
        || (has[2] && (p->layers[2][0].in != joint || p->layers[2][2].out != 1)))
        return "its networks do not fit together";
    if (p->sizes[0] != p->sizes[1] || (p->sizes[0] && p->sizes[0] != p->states))
        return "its scaling of observations does not fit its networks";
    p->max_action = setting(settings, "max_action", 1);
    p->phi = setting(settings, "phi", 0.05);
    p->clip = p->is_bcq ? setting(settings, "latent_clip_bcq", 0.5)
                        : setting(settings, "latent_clip_bc", 0.25);
    if (p->max_action == 0 || p->phi == 0 || p->clip == 0) return "a setting is not a number above 0";
    const char *low = member(settings, "action_low"), *high = member(settings, "action_high");
    if (low || high) {
        if (!(p->bounds = malloc(2 * (size_t)p->actions * sizeof(float)))) return "no memory";
        int good = list(low, p->bounds, p->actions)
                && list(high, p->bounds + p->actions, p->actions);
        for (int i = 0; good && i < p->actions; i++)
            good = p->bounds[i] <= p->bounds[p->actions + i];
        if (!good) return "its bounds of actions do not fit its networks";
    }
    for (int i = 0; i < 4; i++)
        if (!(p->work[i] = malloc(((size_t)widest + STRIP) * sizeof(float)))) return "no memory";
    for (int n = 0; n < 3; n++) {
        int *places = NULL;
        for (int i = 0; has[n] && i < 3; i++)
            if (!in_strips(&p->layers[n][i], &places, i < 2)) return "no memory";
        free(places);
    }
    return NULL;
}

static const char *parse(struct policy *p, uint8_t *file, size_t length) {
    if (length < 56 || memcmp(file, "\x89TPK\r\n\x1a\n", 8)) return "not a packed policy";
    uint64_t version = little(file + 8, 4);
    if (version != 1 && version != 2) return "another version of the format";
    uint64_t header = little(file + 12, 4), payload = little(file + 16, 8);
    if (header > 1 << 20 || header > length - 56 || payload != length - 56 - header || length % 8
        || !sha256_is(file + 56, length - 56, file + 24))
        return "its bytes are not those that were written";
    char *text = calloc(header + 1, 1);
    if (!text) return "no memory";
    memcpy(text, file + 56, header);
    const char *problem = NULL, *values = member(text, "values"), *entry = member(text, "arrays");
    const uint8_t *at = file + 56 + header, *end = file + length;
    int bytes = is_text(values, "fp32") ? 4 : is_text(values, "fp16") ? 2 : 0;
    if (!bytes || !entry || *entry != '[') problem = "its header is not as specified";
    else entry = blank(entry + 1);
    while (!problem && *entry == '{') {
        const char *name = member(entry, "name");
        int is_scaling = is_text(name, SEEN[0]) || is_text(name, SEEN[1]);
        if (is_scaling && version == 1) problem = "its version has no scaling of observations";
        else problem = array(p, entry, &at, end, is_scaling ? 4 : bytes);
        entry = blank(after(entry));
        if (*entry == ',') entry = blank(entry + 1);
    }
    if (!problem && at != end) problem = "its payload is longer than its arrays";
    if (!problem) problem = fits(p, member(member(text, "metadata"), "settings"));
    free(text);
    return problem;
}

void policy_close(struct policy *p) {
    if (!p) return;
    for (int n = 0; n < 9; n++) {
        struct layer *l = &p->layers[n / 3][n % 3];
        free(l->start), free(l->column), free(l->value), free(l->bias);
    }
    for (int i = 0; i < 4; i++) free(p->work[i]);
    free(p->seen[0]), free(p->seen[1]), free(p->bounds);
    free(p);
}

struct policy *policy_open(const char *path, const char **problem) {
    FILE *stream = fopen(path, "rb");
    long length = stream && !fseek(stream, 0, SEEK_END) ? ftell(stream) : -1;
    struct policy *p = calloc(1, sizeof *p);
    uint8_t *file = length < 0 ? NULL : malloc((size_t)length + 1);
    *problem = "it cannot be read";
    if (p && file && !fseek(stream, 0, SEEK_SET)
        && fread(file, 1, (size_t)length, stream) == (size_t)length)
        *problem = parse(p, file, (size_t)length);
    if (stream) fclose(stream);
    free(file);
    if (*problem) policy_close(p), p = NULL;
    return p;
}

/* ---- acting ---- */

int policy_sizes(const struct policy *p, int *states, int *actions, int *latents) {
    *states = p->states, *actions = p->actions, *latents = p->latents;
    return p->is_bcq;
}

double policy_clip(const struct policy *p) { return p->clip; }

static void forward(struct policy *p, int n, const float *x, float *result) {
    float *const outputs[3] = {p->work[0], p->work[1], result};
    for (int i = 0; i < 3; x = outputs[i++]) {
        const struct layer *l = &p->layers[n][i];
        for (int first = 0, s = 0; first < l->out; first += STRIP, s++) {
            int k = l->start[s], end = l->start[s + 1], units = l->out - first;
            const strip *w = (const strip *)l->value;
            strip sum = *(const strip *)(l->bias + first), more = {0};
            for (; k + 1 < end; k += 2) {
                sum += x[l->column[k]] * w[k];
                more += x[l->column[k + 1]] * w[k + 1];
            }
            if (k < end) sum += x[l->column[k]] * w[k];
            sum += more;
            for (int j = 0; j < STRIP && j < units; j++)
                outputs[i][first + j] = i < 2 && sum[j] < 0 ? 0 : sum[j];
        }
    }
}

static void decode(struct policy *p, const float *observation, const float *latent,
                   float *action) {
    float *x = p->work[2];
    const float *shift = p->seen[0], *scale = p->seen[1];
    for (int i = 0; i < p->states; i++)
        x[i] = shift ? (observation[i] - shift[i]) * scale[i] : observation[i];
    if (p->latents) memcpy(x + p->states, latent, (size_t)p->latents * sizeof *x);
    forward(p, 0, x, action);
    for (int i = 0; i < p->actions; i++) action[i] = (float)p->max_action * tanhf(action[i]);
}

/* From +-max_action to the bounds of the environment, never beyond them by rounding. */
static void widen(const struct policy *p, float *action) {
    for (int i = 0; p->bounds && i < p->actions; i++) {
        float low = p->bounds[i], high = p->bounds[p->actions + i];
        double share = (action[i] / p->max_action + 1) / 2;
        float wide = (float)(low + share * ((double)high - low));
        action[i] = wide > high ? high : wide < low ? low : wide;
    }
}

int policy_bc(struct policy *p, const float *observation, const float *latent, float *action) {
    decode(p, observation, latent, action);
    widen(p, action);
    return 0;
}

int policy_bcq(struct policy *p, const float *observation, const float *latents, int n,
               float *action) {
    int best = -1;
    float highest = 0, value, *x = p->work[2], *moved = p->work[3];
    float *own = x + p->states, limit = (float)p->max_action;
    if (!p->has[1] || !p->has[2]) return -1;
    for (int j = 0; j < n; j++) {
        decode(p, observation, latents + (size_t)j * p->latents, moved);
        /* the observation stands before them still */
        memcpy(own, moved, (size_t)p->actions * sizeof *own);
        forward(p, 1, x, moved);
        for (int i = 0; i < p->actions; i++) {
            own[i] += (float)(p->phi * p->max_action) * tanhf(moved[i]);
            own[i] = own[i] > limit ? limit : own[i] < -limit ? -limit : own[i];
        }
        forward(p, 2, x, &value);
        if (best >= 0 && value <= highest) continue;
        best = j, highest = value;
        memcpy(action, own, (size_t)p->actions * sizeof *own);
    }
    if (best >= 0) widen(p, action);
    return best;
}
