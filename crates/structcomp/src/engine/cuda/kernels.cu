// Everything of a training step and of an embedding that is no matrix product. Sums are made in a fixed order, so the
// same input gives the same bytes on the same GPU. `scripts/kernels.py` compiles this file to `kernels.fatbin`.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;

// Rows that a block goes over where columns are summed.
#define ROWS 256
// Members of a cluster that are drawn from in shared memory, by blocks of 32 threads.
#define MOST_SHARED 256
// Similarities that a block goes over.
#define TILE_ROWS 64
#define TILE_COLS 256

// ---- random numbers: the streams of `Seed::stream_at` ----

static __device__ u64 mix(u64 counter) {
    u64 z = counter + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static __device__ u64 rotated(u64 x, int by) { return (x << by) | (x >> (64 - by)); }

// xoshiro256++
struct Random {
    u64 a, b, c, d;

    __device__ Random(u64 key, u64 index) {
        u64 seed = mix(key ^ mix(index)), step = 0x9e3779b97f4a7c15ull;
        a = mix(seed), b = mix(seed + step), c = mix(seed + 2 * step), d = mix(seed + 3 * step);
    }

    __device__ u32 next() {
        u64 result = rotated(a + d, 23) + a, shifted = b << 17;
        c ^= a, d ^= b, b ^= c, a ^= d, c ^= shifted;
        d = rotated(d, 45);
        return (u32)(result >> 32);
    }

    // A number below `range`, as `random_range` draws it.
    __device__ u32 below(u32 range) {
        u64 product = (u64)next() * range;
        u32 high = (u32)(product >> 32), low = (u32)product;
        if (low > 0u - range) {
            u32 more = (u32)(((u64)next() * range) >> 32);
            high += low + more < low;
        }
        return high;
    }
};

// ---- the views of a step ----

// The members of each cluster that the second view averages, in ascending order: half of them, or each by a coin.
extern "C" __global__ void keep_members(const u64* clock, u64 key, const u32* starts, const u32* members, u32 clusters,
                                        int by_coin, u32* room, u32* kept, u32* counts) {
    u32 cluster = blockIdx.x * blockDim.x + threadIdx.x;
    if (cluster >= clusters) return;
    u32 begin = starts[cluster], size = starts[cluster + 1] - begin, count = 0;
    Random random(key, clock[0] << 32 | cluster);
    u32 *own = room + begin, *out = kept + begin;
    const u32* all = members + begin;
    // Most clusters fit in shared memory, where the loads that wait for each other are fast.
    __shared__ unsigned char order[32][MOST_SHARED + 4];
    __shared__ u32 drawn_bits[32][MOST_SHARED / 32 + 1];
    if (by_coin) {
        while (count == 0 && size > 0) {
            for (u32 at = 0; at < size; at++) {
                if ((int)random.next() < 0) out[count++] = all[at];
            }
        }
    } else if (size <= MOST_SHARED) {
        unsigned char* places = order[threadIdx.x];
        u32* bits = drawn_bits[threadIdx.x];
        for (u32 at = 0; at < size; at++) places[at] = at;
        for (u32 word = 0; word < MOST_SHARED / 32; word++) bits[word] = 0;
        u32 half = size / 2 > 0 ? size / 2 : 1;
        for (u32 at = 0; at < half && at < size; at++) {
            u32 other = at + random.below(size - at), drawn = places[other];
            places[other] = places[at];
            bits[drawn / 32] |= 1u << drawn % 32;
        }
        for (u32 word = 0; word * 32 < size; word++) {
            for (u32 left = bits[word]; left; left &= left - 1) out[count++] = all[word * 32 + __ffs(left) - 1];
        }
    } else {
        for (u32 at = 0; at < size; at++) own[at] = at, out[at] = 0;
        u32 half = size / 2 > 0 ? size / 2 : 1;
        for (u32 at = 0; at < half && at < size; at++) {
            u32 other = at + random.below(size - at), drawn = own[other];
            own[other] = own[at], own[at] = drawn;
            out[drawn] = 1;
        }
        for (u32 at = 0; at < size; at++) {
            if (out[at]) out[count++] = all[at];
        }
    }
    counts[cluster] = count;
}

// The mean of the kept members' features; a block for each cluster.
extern "C" __global__ void cluster_means(const float* x, u32 cols, const u32* starts, const u32* kept,
                                         const u32* counts, float* out) {
    u32 cluster = blockIdx.x, count = counts[cluster];
    const u32* members = kept + starts[cluster];
    for (u32 col = threadIdx.x; col < cols; col += blockDim.x) {
        float sum = 0;
        u32 at = 0;
        // Loads first, so that they are on their way together; the sums are in order.
        for (; at + 8 <= count; at += 8) {
            float value[8];
#pragma unroll
            for (int i = 0; i < 8; i++) value[i] = x[(size_t)members[at + i] * cols + col];
#pragma unroll
            for (int i = 0; i < 8; i++) sum += value[i];
        }
        for (; at < count; at++) sum += x[(size_t)members[at] * cols + col];
        out[(size_t)cluster * cols + col] = sum / (float)count;
    }
}

// The same for sparse features; a warp for each cluster.
extern "C" __global__ void sparse_cluster_means(const u64* offsets, const u32* indices, const float* values, u32 cols,
                                                const u32* starts, const u32* kept, const u32* counts, u32 clusters,
                                                float* out) {
    u32 cluster = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (cluster >= clusters) return;
    float* row = out + (size_t)cluster * cols;
    for (u32 col = lane; col < cols; col += 32) row[col] = 0;
    __syncwarp();
    u32 begin = starts[cluster], count = counts[cluster];
    for (u32 at = 0; at < count; at++) {
        u32 node = kept[begin + at];
        for (u64 entry = offsets[node] + lane; entry < offsets[node + 1]; entry += 32) {
            row[indices[entry]] += values[entry];
        }
        __syncwarp();
    }
    for (u32 col = lane; col < cols; col += 32) row[col] /= (float)count;
}

// ---- layers ----

enum { NONE, RELU, ELU, PRELU, PRELU_SHARED };

// Adds the bias and applies the activation; the result is written where there is a place for it, in either width.
extern "C" __global__ void activate(const float* in, const float* bias, const float* slopes, int kind, u64 count,
                                    u32 cols, float* out, __nv_bfloat16* narrow) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        u32 col = at % cols;
        float y = in[at] + bias[col], below = fminf(y, 0.f);
        float result = y;
        if (kind == RELU) result = fmaxf(y, 0.f);
        if (kind == ELU) result = fmaxf(y, 0.f) + expm1f(below);
        if (kind == PRELU) result = fmaxf(y, 0.f) + slopes[col] * below;
        if (kind == PRELU_SHARED) result = fmaxf(y, 0.f) + slopes[0] * below;
        if (out) out[at] = result;
        if (narrow) narrow[at] = __float2bfloat16(result);
    }
}

extern "C" __global__ void narrowed(const float* in, u64 count, __nv_bfloat16* out) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        out[at] = __float2bfloat16(in[at]);
    }
}

// Turns the gradient of a layer's result into that of the linear map. `own` is the result, or where there are slopes what
// the bias was added to. Sums for bias and slopes are of the rows of a block each.
extern "C" __global__ void activate_back(float* gradient, const float* own, const float* own_bias, const float* slopes,
                                         int kind, u32 rows, u32 cols, float* of_bias, float* of_slopes,
                                         __nv_bfloat16* narrow) {
    __shared__ float sums[2][8][33];
    u32 col = blockIdx.x * 32 + threadIdx.x;
    u32 end = min(rows, (blockIdx.y + 1) * ROWS);
    float bias = 0, slope_sum = 0;
    if (col < cols) {
        float added = kind >= PRELU ? own_bias[col] : 0.f;
        float slope = kind == PRELU ? slopes[col] : kind == PRELU_SHARED ? slopes[0] : 0.f;
        for (u32 row = blockIdx.y * ROWS + threadIdx.y; row < end; row += 8) {
            size_t at = (size_t)row * cols + col;
            float g = gradient[at];
            if (kind != NONE) {
                float x = own[at] + added;
                if (kind == RELU) g = x > 0 ? g : 0;
                if (kind == ELU) g *= 1 + fminf(x, 0.f);
                if (kind >= PRELU) {
                    slope_sum += g * fminf(x, 0.f);
                    g *= x > 0 ? 1 : slope;
                }
                // Where it is narrowed, the wide one is not read again.
                if (!narrow) gradient[at] = g;
            }
            if (narrow) narrow[at] = __float2bfloat16(g);
            bias += g;
        }
    }
    sums[0][threadIdx.y][threadIdx.x] = bias;
    sums[1][threadIdx.y][threadIdx.x] = slope_sum;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        for (int i = 1; i < 8; i++) bias += sums[0][i][threadIdx.x], slope_sum += sums[1][i][threadIdx.x];
        of_bias[(size_t)blockIdx.y * cols + col] = bias;
        if (kind >= PRELU) of_slopes[(size_t)blockIdx.y * cols + col] = slope_sum;
    }
}

// Adds up the sums of all blocks; blocks of 32 x 32.
extern "C" __global__ void finish_columns(const float* partial, u32 parts, u32 cols, float* out) {
    __shared__ double sums[32][33];
    u32 col = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;
    for (u32 part = threadIdx.y; part < parts && col < cols; part += 32) sum += partial[(size_t)part * cols + col];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        for (int i = 1; i < 32; i++) sum += sums[i][threadIdx.x];
        out[col] = (float)sum;
    }
}

// The sum of a few numbers; one warp.
extern "C" __global__ void sum_floats(const float* values, u32 count, float* out) {
    if (threadIdx.x > 0) return;
    double sum = 0;
    for (u32 at = 0; at < count; at++) sum += values[at];
    out[0] = (float)sum;
}

// ---- sums over everything ----

static __device__ double warp_sum(double value) {
    for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0u, value, by);
    return value;
}

// The sum over a block of up to 1024 threads, for the first thread.
static __device__ double block_sum(double value) {
    __shared__ double sums[32];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 i = 1; i < blockDim.x / 32; i++) value += sums[i];
    }
    return value;
}

// out = factor · Σ values (+ out); one block of 1024 threads.
extern "C" __global__ void sum_doubles(const double* values, u64 count, double factor, int add, double* out) {
    double sum = 0;
    for (u64 at = threadIdx.x; at < count; at += blockDim.x) sum += values[at];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[0] = factor * sum + (add ? out[0] : 0.0);
}

// Σ a·b of the part of each block of 256 threads.
extern "C" __global__ void dots(const float* a, const float* b, u64 count, double* out) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    double sum = 0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) sum += (double)a[at] * b[at];
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// ---- InfoNCE ----

// Scales rows to length one in place, and writes them in half precision where asked; a warp for each row.
extern "C" __global__ void unit_rows(float* rows, u32 count, u32 cols, float* scales, __half* halves) {
    u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= count) return;
    float* own = rows + (size_t)row * cols;
    double squares = 0;
    for (u32 col = lane; col < cols; col += 32) squares += (double)own[col] * own[col];
    double length = sqrt(warp_sum(squares));
    float scale = length > 1e-12 ? (float)(1 / length) : 0.f;
    for (u32 col = lane; col < cols; col += 32) {
        float value = own[col] * scale;
        own[col] = value;
        if (halves) halves[(size_t)row * cols + col] = __float2half(value);
    }
    if (lane == 0) scales[row] = scale;
}

struct Eight {
    float value[8];
};

static __device__ Eight load(const float* from) {
    float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

static __device__ Eight load(const __half* from) {
    uint4 raw = *(const uint4*)from;
    const __half2* pairs = (const __half2*)&raw;
    Eight eight;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 pair = __half22float2(pairs[i]);
        eight.value[2 * i] = pair.x, eight.value[2 * i + 1] = pair.y;
    }
    return eight;
}

static __device__ void store(float* to, const Eight& eight) {
    ((float4*)to)[0] = make_float4(eight.value[0], eight.value[1], eight.value[2], eight.value[3]);
    ((float4*)to)[1] = make_float4(eight.value[4], eight.value[5], eight.value[6], eight.value[7]);
}

static __device__ void store(__half* to, const Eight& eight) {
    uint4 raw;
    __half2* pairs = (__half2*)&raw;
#pragma unroll
    for (int i = 0; i < 4; i++) pairs[i] = __floats2half2_rn(eight.value[2 * i], eight.value[2 * i + 1]);
    *(uint4*)to = raw;
}

// Similarities s of `rows` rows with themselves and `cols` − `rows` later ones: e^((s − 1)/τ) is summed for each row
// and each column of a tile. `factor` is log2(e)/τ. A row's similarity to itself does not count.
template <typename T>
static __device__ void exp_sums(const T* s, u32 ld, u32 rows, u32 cols, float factor, float* by_row, u32 row_stride,
                                float* by_col, u32 col_stride) {
    __shared__ float sums[8][TILE_COLS];
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 first = blockIdx.x * TILE_COLS + lane * 8;
    float columns[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < TILE_ROWS / 8; k++) {
        u32 row = blockIdx.y * TILE_ROWS + 8 * k + warp;
        if (row >= rows) continue;
        float sum = 0;
        if (first < cols) {
            Eight eight = load(s + (size_t)row * ld + first);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                float e = exp2f(fmaf(eight.value[i], factor, -factor));
                e = first + i < cols && first + i != row ? e : 0.f;
                sum += e;
                columns[i] += e;
            }
        }
        for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
        if (lane == 0) by_row[(size_t)blockIdx.x * row_stride + row] = sum;
    }
    // Among themselves the rows count by rows alone.
    if ((blockIdx.x + 1) * TILE_COLS <= rows) return;
#pragma unroll
    for (int i = 0; i < 8; i++) sums[warp][lane * 8 + i] = columns[i];
    __syncthreads();
    u32 col = blockIdx.x * TILE_COLS + threadIdx.x;
    if (col >= cols) return;
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += sums[i][threadIdx.x];
    by_col[(size_t)blockIdx.y * col_stride + col] = sum;
}

extern "C" __global__ void exp_sums_half(const __half* s, u32 ld, u32 rows, u32 cols, float factor, float* by_row,
                                         u32 row_stride, float* by_col, u32 col_stride) {
    exp_sums(s, ld, rows, cols, factor, by_row, row_stride, by_col, col_stride);
}

extern "C" __global__ void exp_sums_single(const float* s, u32 ld, u32 rows, u32 cols, float factor, float* by_row,
                                           u32 row_stride, float* by_col, u32 col_stride) {
    exp_sums(s, ld, rows, cols, factor, by_row, row_stride, by_col, col_stride);
}

// Adds the sums of all tiles to those of the rows before.
extern "C" __global__ void add_exp_sums(const float* by_row, u32 col_tiles, u32 row_stride, const float* by_col,
                                        u32 row_tiles, u32 col_stride, u32 rows, u32 cols, double* sums) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= cols) return;
    const float* partial = at < rows ? by_row : by_col;
    u32 parts = at < rows ? col_tiles : row_tiles, stride = at < rows ? row_stride : col_stride;
    double sum = 0;
#pragma unroll 8
    for (u32 part = 0; part < parts; part++) sum += partial[(size_t)part * stride + at];
    sums[at] += sum;
}

extern "C" __global__ void inverses(const double* values, u32 count, float* out) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) out[at] = (float)(1 / values[at]);
}

// Turns similarities into the weights e^((s − 1)/τ) (1/Dᵢ + 1/Dⱼ), times `by`.
template <typename T>
static __device__ void weights(T* s, u32 ld, u32 rows, u32 cols, float factor, const float* inverse, float by) {
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    u32 first = blockIdx.x * TILE_COLS + lane * 8;
    if (first >= cols) return;
    float of_col[8];
#pragma unroll
    for (int i = 0; i < 8; i++) of_col[i] = first + i < cols ? by * inverse[first + i] : 0.f;
#pragma unroll
    for (int k = 0; k < TILE_ROWS / 8; k++) {
        u32 row = blockIdx.y * TILE_ROWS + 8 * k + warp;
        if (row >= rows) continue;
        float of_row = by * inverse[row];
        T* place = s + (size_t)row * ld + first;
        Eight eight = load(place);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float e = exp2f(fmaf(eight.value[i], factor, -factor)) * (of_row + of_col[i]);
            eight.value[i] = first + i < cols && first + i != row ? e : 0.f;
        }
        store(place, eight);
    }
}

extern "C" __global__ void weights_half(__half* s, u32 ld, u32 rows, u32 cols, float factor, const float* inverse,
                                        float by) {
    weights(s, ld, rows, cols, factor, inverse, by);
}

extern "C" __global__ void weights_single(float* s, u32 ld, u32 rows, u32 cols, float factor, const float* inverse,
                                          float by) {
    weights(s, ld, rows, cols, factor, inverse, by);
}

// The gradient in rows before they were scaled to length one, and each row's part of the loss; a warp for each row.
// `g` holds WP; what it is multiplied by is `by`, and a row's partner by `of_partner`.
extern "C" __global__ void contrast_rows(float* g, const float* p, const float* scales, const double* sums, u32 rows,
                                         u32 cols, float by, float of_partner, double tau, double* terms) {
    u32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    u32 half = rows / 2, partner = row < half ? row + half : row - half;
    float* own_g = g + (size_t)row * cols;
    const float *own = p + (size_t)row * cols, *other = p + (size_t)partner * cols;
    double along = 0, alike = 0;
    for (u32 col = lane; col < cols; col += 32) {
        float gradient = by * own_g[col] - of_partner * other[col];
        along += (double)gradient * own[col];
        alike += (double)own[col] * other[col];
        own_g[col] = gradient;
    }
    float along_row = (float)warp_sum(along), scale = scales[row];
    alike = warp_sum(alike);
    for (u32 col = lane; col < cols; col += 32) own_g[col] = scale * (own_g[col] - along_row * own[col]);
    if (lane == 0) terms[row] = log(sums[row]) + (1 - alike) / tau;
}

// ---- CCA-SSG ----

// Adds up two sums of each column over the eight threads that have a part of them.
static __device__ void write_moments(double sum, double product, u32 cols, double* partial) {
    __shared__ double sums[2][8][33];
    u32 col = blockIdx.x * 32 + threadIdx.x;
    sums[0][threadIdx.y][threadIdx.x] = sum;
    sums[1][threadIdx.y][threadIdx.x] = product;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        for (int i = 1; i < 8; i++) sum += sums[0][i][threadIdx.x], product += sums[1][i][threadIdx.x];
        partial[((size_t)blockIdx.y * 2) * cols + col] = sum;
        partial[((size_t)blockIdx.y * 2 + 1) * cols + col] = product;
    }
}

// Σ a and Σ a·b of each column, over the rows of a block each.
extern "C" __global__ void moments(const float* a, const float* b, u32 rows, u32 cols, double* partial) {
    u32 col = blockIdx.x * 32 + threadIdx.x;
    u32 end = min(rows, (blockIdx.y + 1) * ROWS);
    double sum = 0, product = 0;
    for (u32 row = blockIdx.y * ROWS + threadIdx.y; row < end && col < cols; row += 8) {
        size_t at = (size_t)row * cols + col;
        double value = a[at];
        sum += value;
        product += value * b[at];
    }
    write_moments(sum, product, cols, partial);
}

// Mean and one over the deviation of each column, or for the way back the mean and Σ a·b/(rows − 1).
extern "C" __global__ void finish_moments(const double* partial, u32 parts, u32 rows, u32 cols, int back, float* mean,
                                          float* second) {
    __shared__ double sums[2][32][33];
    u32 col = blockIdx.x * 32 + threadIdx.x;
    double sum = 0, product = 0;
    for (u32 part = threadIdx.y; part < parts && col < cols; part += 32) {
        sum += partial[((size_t)part * 2) * cols + col];
        product += partial[((size_t)part * 2 + 1) * cols + col];
    }
    sums[0][threadIdx.y][threadIdx.x] = sum;
    sums[1][threadIdx.y][threadIdx.x] = product;
    __syncthreads();
    if (threadIdx.y > 0 || col >= cols) return;
    for (int i = 1; i < 32; i++) sum += sums[0][i][threadIdx.x], product += sums[1][i][threadIdx.x];
    double average = sum / rows;
    mean[col] = (float)average;
    if (back) {
        second[col] = (float)(product / (rows - 1.0));
        return;
    }
    double deviation = sqrt(fmax(product - average * sum, 0.0) / (rows - 1.0));
    bool constant = deviation <= 1e-6 * fabs(average) || deviation == 0;
    second[col] = constant ? 0.f : (float)(1 / deviation);
}

extern "C" __global__ void standardize(const float* z, const float* mean, const float* scale, u64 count, u32 cols,
                                       float* out) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        u32 col = at % cols;
        out[at] = (z[at] - mean[col]) * scale[col];
    }
}

// g = cubed·g + scale·z + crossed·other, and of it what `moments` gives with z.
extern "C" __global__ void combine(float* g, const float* z, const float* other, float cubed, float scale,
                                   float crossed, u32 rows, u32 cols, double* partial) {
    u32 col = blockIdx.x * 32 + threadIdx.x;
    u32 end = min(rows, (blockIdx.y + 1) * ROWS);
    double sum = 0, product = 0;
    for (u32 row = blockIdx.y * ROWS + threadIdx.y; row < end && col < cols; row += 8) {
        size_t at = (size_t)row * cols + col;
        float own = z[at], value = cubed * g[at] + scale * own + crossed * other[at];
        g[at] = value;
        sum += value;
        product += (double)value * own;
    }
    write_moments(sum, product, cols, partial);
}

extern "C" __global__ void unstandardize(float* g, const float* z, const float* mean, const float* along,
                                         const float* scale, u64 count, u32 cols) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        u32 col = at % cols;
        g[at] = scale[col] * (g[at] - mean[col] - z[at] * along[col]);
    }
}

// Σ (I − C/n)² of each row; a block of 256 threads for each.
extern "C" __global__ void off_identity(const float* c, u32 cols, double n, double* out) {
    double sum = 0;
    for (u32 col = threadIdx.x; col < cols; col += blockDim.x) {
        double rest = (col == blockIdx.x ? 1.0 : 0.0) - c[(size_t)blockIdx.x * cols + col] / n;
        sum += rest * rest;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// ---- SCE and COLES ----

// Random pairs of a step, and how often each row is in one.
extern "C" __global__ void draw_pairs(const u64* clock, u64 key, u32 rows, u32 negatives, u32* drawn, u32* counts) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Random random(key, clock[0] << 32 | row);
    for (u32 at = 0; at < negatives; at++) {
        u32 other = random.below(rows);
        drawn[(size_t)row * negatives + at] = other;
        atomicAdd(&counts[other], 1u);
    }
    atomicAdd(&counts[row], negatives);
}

// Where each row's others start, twice; one block of 1024 threads.
extern "C" __global__ void pair_starts(const u32* counts, u32 rows, u32* starts, u32* next) {
    __shared__ u32 sums[1024];
    u32 share = (rows + 1023) / 1024, begin = min(rows, threadIdx.x * share), end = min(rows, begin + share);
    u32 sum = 0;
    for (u32 row = begin; row < end; row++) sum += counts[row];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (u32 by = 1; by < 1024; by *= 2) {
        u32 before = threadIdx.x >= by ? sums[threadIdx.x - by] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    u32 start = sums[threadIdx.x] - sum;
    for (u32 row = begin; row < end; row++) {
        starts[row] = next[row] = start;
        start += counts[row];
    }
    if (threadIdx.x == 1023) starts[rows] = sums[1023];
}

// Lists the pairs of each row from both sides, in whatever order.
extern "C" __global__ void list_pairs(const u32* drawn, u32 rows, u32 negatives, u32* next, u32* others) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (u64)rows * negatives) return;
    u32 row = at / negatives, other = drawn[at];
    others[atomicAdd(&next[row], 1u)] = other;
    others[atomicAdd(&next[other], 1u)] = row;
}

// Sorts them, so that sums do not depend on that order.
extern "C" __global__ void sort_pairs(const u32* starts, u32 rows, u32* others) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    u32 begin = starts[row], end = starts[row + 1];
    for (u32 at = begin + 1; at < end; at++) {
        u32 value = others[at], to = at;
        for (; to > begin && others[to - 1] > value; to--) others[to] = others[to - 1];
        others[to] = value;
    }
}

// MZ by (MZ)ᵣ = ownᵣ zᵣ + Σ w (z_c − zᵣ), and each row's zᵣ · (MZ)ᵣ; a block of 128 threads for each row. Without
// `own` and `weights`, M is the Laplacian of the pairs.
extern "C" __global__ void differences(const float* own, const u32* starts, const u32* others, const float* weights,
                                       const float* z, u32 cols, float* out, double* terms) {
    u32 row = blockIdx.x, begin = starts[row], end = starts[row + 1];
    double dot = 0;
    for (u32 col = threadIdx.x; col < cols; col += blockDim.x) {
        float value = z[(size_t)row * cols + col], sum = own ? own[row] * value : 0.f;
        for (u32 at = begin; at < end; at++) {
            float rest = z[(size_t)others[at] * cols + col] - value;
            sum += (weights ? weights[at] : -1.f) * rest;
        }
        out[(size_t)row * cols + col] = sum;
        dot += (double)value * sum;
    }
    dot = block_sum(dot);
    if (threadIdx.x == 0) terms[row] = dot;
}

// The loss of T = tr(ZᵀMZ) and twice its derivative: α/T, or T/n where α is zero.
extern "C" __global__ void outer(double alpha, double rows, double* outcome, float* scalars) {
    double total = outcome[1];
    outcome[0] = alpha > 0 ? alpha / total : total / rows;
    scalars[2] = (float)(2 * (alpha > 0 ? -alpha / (total * total) : 1 / rows));
}

extern "C" __global__ void scale_all(float* values, u64 count, const float* scalars) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) values[at] *= scalars[2];
}

// ---- Adam ----

// What this step's update is corrected by. `clock` holds the step and the number of updates before it.
extern "C" __global__ void open_step(const u64* clock, double learning_rate, float* scalars, u32* lost) {
    double updates = (double)(clock[1] + 1);
    scalars[0] = (float)(learning_rate / (1 - pow(0.9, updates)));
    scalars[1] = (float)(1 / sqrt(1 - pow(0.999, updates)));
    lost[0] = 0;
}

extern "C" __global__ void adam(float* parameters, const float* gradient, float* mean, float* square, u32 count,
                                const float* scalars, float in_gradient, float shrink, u32* lost) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    float parameter = parameters[at], g = gradient[at] + in_gradient * parameter;
    float m = 0.9f * mean[at] + (float)(1.0 - 0.9) * g;
    float s = 0.999f * square[at] + (float)(1.0 - 0.999) * (g * g);
    parameter = shrink * parameter - scalars[0] * m / (sqrtf(s) * scalars[1] + 1e-8f);
    mean[at] = m, square[at] = s, parameters[at] = parameter;
    if (!isfinite(parameter)) atomicAdd(lost, 1u);
}

extern "C" __global__ void close_step(u64* clock, const u32* lost, double* outcome) {
    outcome[2] = lost[0];
    clock[0] += 1;
    clock[1] += 1;
}

// ---- hops ----

static __device__ float4 single(const float4& four) { return four; }

static __device__ float4 single(const uint2& raw) {
    float2 a = __half22float2(*(const __half2*)&raw.x), b = __half22float2(*(const __half2*)&raw.y);
    return make_float4(a.x, a.y, b.x, b.y);
}

static __device__ void put(float4* to, const float4& four) { *to = four; }

static __device__ void put(uint2* to, const float4& four) {
    __half2 a = __floats2half2_rn(four.x, four.y), b = __floats2half2_rn(four.z, four.w);
    *to = make_uint2(*(u32*)&a, *(u32*)&b);
}

// Rows of ÂX, times `by`, plus `own_share` times the rows of `base` where that is given. A warp for each row and each
// 128 columns, `K` times. `scale` is D^-1/2; a node's own row counts as a neighbour. The lanes of a warp look up the
// neighbours of a row together, 32 at a time; sums are in their order.
template <typename Four, int K>
static __device__ void hop(const u64* offsets, const u32* targets, const float* edge_weights, const float* scale,
                           const Four* x, u32 first, u32 rows, u32 fours, const Four* base, float by, float own_share,
                           Four* out) {
    const int AT_ONCE = K > 1 ? 2 : 4;
    u32 at = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (at >= rows) return;
    u32 row = first + at, start = blockIdx.y * 32 * K + lane;
    float own = scale[row];
    float4 sums[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
        u32 four = start + 32 * k;
        float4 value = four < fours ? single(x[(size_t)row * fours + four]) : make_float4(0, 0, 0, 0);
        sums[k] = make_float4(own * value.x, own * value.y, own * value.z, own * value.w);
    }
    u64 end = offsets[row + 1];
    for (u64 entry = offsets[row]; entry < end; entry += 32) {
        u32 count = min((u64)32, end - entry), node = row;
        float weight = 0;
        if (lane < count) {
            node = targets[entry + lane];
            weight = scale[node] * (edge_weights ? edge_weights[entry + lane] : 1.f);
        }
        for (u32 i = 0; i < count; i += AT_ONCE) {
            float4 values[AT_ONCE][K];
            float weights[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                u32 from = __shfl_sync(~0u, node, min(i + j, 31u));
                weights[j] = __shfl_sync(~0u, weight, min(i + j, 31u));
#pragma unroll
                for (int k = 0; k < K; k++) {
                    u32 four = start + 32 * k;
                    bool is_there = four < fours && i + j < count;
                    values[j][k] = is_there ? single(x[(size_t)from * fours + four]) : make_float4(0, 0, 0, 0);
                }
            }
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
#pragma unroll
                for (int k = 0; k < K; k++) {
                    sums[k].x += weights[j] * values[j][k].x, sums[k].y += weights[j] * values[j][k].y;
                    sums[k].z += weights[j] * values[j][k].z, sums[k].w += weights[j] * values[j][k].w;
                }
            }
        }
    }
    own *= by;
#pragma unroll
    for (int k = 0; k < K; k++) {
        u32 four = start + 32 * k;
        if (four >= fours) continue;
        float4 sum = make_float4(own * sums[k].x, own * sums[k].y, own * sums[k].z, own * sums[k].w);
        if (base) {
            float4 more = single(base[(size_t)row * fours + four]);
            sum.x += own_share * more.x, sum.y += own_share * more.y;
            sum.z += own_share * more.z, sum.w += own_share * more.w;
        }
        put(&out[(size_t)at * fours + four], sum);
    }
}

#define HOP(NAME, FOUR, K)                                                                                         \
    extern "C" __global__ void NAME(const u64* offsets, const u32* targets, const float* edge_weights,             \
                                    const float* scale, const FOUR* x, u32 first, u32 rows, u32 fours,             \
                                    const FOUR* base, float by, float own_share, FOUR* out) {                      \
        hop<FOUR, K>(offsets, targets, edge_weights, scale, x, first, rows, fours, base, by, own_share, out);      \
    }

HOP(hop_single, float4, 1)
HOP(hop_single_wide, float4, 4)
HOP(hop_half, uint2, 1)
HOP(hop_half_wide, uint2, 4)
