// The similarities of InfoNCE on GPUs with compute capability 9.0: products by `wgmma` whose results never leave the
// registers as they are. A block makes tiles of 128 x 256 similarities of rows of half precision: one warp group has the
// tensor copy engine fetch the operands, 64 columns a stage, and two multiply. `scripts/kernels.py` compiles this file to
// `hopper.fatbin`.

#include <cuda.h>
#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;

#define TILE_ROWS 128
#define TILE_COLS 256
#define DEPTH 64
#define STAGES 4
#define STAGE_BYTES ((TILE_ROWS + TILE_COLS) * DEPTH * 2)
#define THREADS 384

struct Shared {
    alignas(1024) unsigned char stages[STAGES][STAGE_BYTES];
    float columns[8][TILE_COLS];
    u64 full[STAGES], empty[STAGES];
};

static __device__ u32 address(const void* at) { return (u32)__cvta_generic_to_shared(at); }

static __device__ void wait(u64* barrier, u32 phase) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra finished;\n"
        "bra again;\n"
        "finished:\n"
        "}\n" ::"r"(address(barrier)),
        "r"(phase)
        : "memory");
}

static __device__ void arrive(u64* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

// Fetches 128 rows of 64 columns.
static __device__ void fetch(const CUtensorMap* map, void* to, u64* barrier, int col, int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            address(to)),
        "l"(map), "r"(col), "r"(row), "r"(address(barrier))
        : "memory");
}

// What wgmma is told of an operand: rows of 128 bytes, swizzled, eight of them every 1,024 bytes.
static __device__ u64 operand(const void* at) {
    return (u64)((address(at) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// D = A·Bᵀ (+ D) for 64 rows of A, 256 rows of B and 16 columns.
static __device__ __forceinline__ void multiply(float (&d)[128], u64 a, u64 b, int add) {
    asm volatile(
        "{\n"
        ".reg .pred add;\n"
        "setp.ne.b32 add, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
        "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
        "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
        "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "
        "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, "
        "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, "
        "%119, %120, %121, %122, %123, %124, %125, %126, %127 "
        "}, %128, %129, add, 1, 1, 0, 0;\n"
        "}\n"
        :
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]),
          "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]),
          "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]),
          "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]),
          "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]),
          "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]),
          "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]),
          "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]),
          "+f"(d[127])
        : "l"(a), "l"(b), "r"(add));
}

static __device__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Stages that were used before, from which follow the stage at hand and its phase.
struct Turn {
    u32 count = 0;
    __device__ u32 stage() const { return count % STAGES; }
    __device__ u32 phase() const { return count / STAGES % 2; }
};

static __device__ void begin(Shared& shared) {
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; stage++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&shared.full[stage])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(address(&shared.empty[stage])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
}

// Fetches the operands of one tile.
static __device__ void fetch_tile(const CUtensorMap* map, Shared& shared, Turn& turn, u32 depth, u32 row, u32 col) {
    for (u32 from = 0; from < depth; from += DEPTH, turn.count++) {
        u32 stage = turn.stage();
        u64* full = &shared.full[stage];
        wait(&shared.empty[stage], turn.phase() ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(full)), "r"(STAGE_BYTES)
                     : "memory");
        unsigned char* to = shared.stages[stage];
        fetch(map, to, full, from, row);
        fetch(map, to + TILE_ROWS * DEPTH * 2, full, from, col);
        fetch(map, to + 2 * TILE_ROWS * DEPTH * 2, full, from, col + TILE_ROWS);
    }
}

// The products of one tile, for the 64 rows of a warp group.
static __device__ __forceinline__ void multiply_tile(float (&d)[128], Shared& shared, Turn& turn, u32 depth, u32 group) {
    u32 before = 0;
    for (u32 from = 0; from < depth; from += DEPTH, turn.count++) {
        u32 stage = turn.stage();
        wait(&shared.full[stage], turn.phase());
        u64 a = operand(shared.stages[stage] + group * 64 * DEPTH * 2);
        u64 b = operand(shared.stages[stage] + TILE_ROWS * DEPTH * 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < DEPTH / 16; step++) multiply(d, a + 2 * step, b + 2 * step, from > 0 || step > 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (from > 0) {
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (threadIdx.x % 128 == 0) arrive(&shared.empty[before]);
        }
        before = stage;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 128 == 0) arrive(&shared.empty[before]);
}

// Keeps the compiler from moving what it thinks are plain registers across the products.
static __device__ __forceinline__ void settle(float (&d)[128]) {
#pragma unroll
    for (int i = 0; i < 128; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// Tiles on and above the diagonal, row after row; row r has those from column r / 2 on.
struct Triangle {
    u32 row, col, row_tiles, col_tiles;

    __device__ Triangle(u32 rows) : row(0), col(0) {
        row_tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, col_tiles = (rows + TILE_COLS - 1) / TILE_COLS;
        advance(blockIdx.x);
    }
    __device__ bool left() const { return row < row_tiles; }
    __device__ void advance(u32 by) {
        col += by;
        while (col >= col_tiles && row < row_tiles) {
            col -= col_tiles;
            row++;
            col += row / 2;
        }
    }
};

// e^((s − 1)/τ) of every pair of rows i < j, summed over j for i and over i for j, of each tile apart. `factor` is
// log2(e)/τ. The sum of tile column c for row i is by_row[c · stride + i], that of tile row r for row j is
// by_col[r · stride + j].
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    pair_sums(const __grid_constant__ CUtensorMap map, u32 rows, u32 depth, float factor, u32 stride, float* by_row,
              float* by_col) {
    extern __shared__ unsigned char raw[];
    Shared& shared = *(Shared*)(((u64)raw + 1023) / 1024 * 1024);
    begin(shared);
    Turn turn;
    Triangle tile(rows);
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (; tile.left(); tile.advance(gridDim.x)) {
                fetch_tile(&map, shared, turn, depth, tile.row * TILE_ROWS, tile.col * TILE_COLS);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        u32 group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        for (; tile.left(); tile.advance(gridDim.x)) {
            float d[128];
            multiply_tile(d, shared, turn, depth, group);
            settle(d);
            u32 row = tile.row * TILE_ROWS + group * 64 + warp * 16 + lane / 4;
            u32 col = tile.col * TILE_COLS + lane % 4 * 2;
            bool whole = (tile.row + 1) * TILE_ROWS <= tile.col * TILE_COLS && (tile.col + 1) * TILE_COLS <= rows;
            float sum = 0, sum_below = 0, columns[64];
#pragma unroll
            for (int j = 0; j < 32; j++) {
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float e = power_of_two(fmaf(d[4 * j + i], factor, -factor));
                    float below = power_of_two(fmaf(d[4 * j + 2 + i], factor, -factor));
                    if (!whole) {
                        u32 at = col + 8 * j + i;
                        e = at > row && at < rows ? e : 0.f;
                        below = at > row + 8 && at < rows ? below : 0.f;
                    }
                    sum += e;
                    sum_below += below;
                    columns[2 * j + i] = e + below;
                }
            }
            // Rows: the four lanes that share one.
            for (int by = 1; by < 4; by *= 2) {
                sum += __shfl_xor_sync(~0u, sum, by);
                sum_below += __shfl_xor_sync(~0u, sum_below, by);
            }
            if (lane % 4 == 0) {
                if (row < rows) by_row[(size_t)tile.col * stride + row] = sum;
                if (row + 8 < rows) by_row[(size_t)tile.col * stride + row + 8] = sum_below;
            }
            // Columns: of eight lanes each hands half of its sums to another, three times.
            bool upper = lane & 16;
#pragma unroll
            for (int k = 0; k < 32; k++) {
                float given = __shfl_xor_sync(~0u, upper ? columns[k] : columns[32 + k], 16);
                columns[k] = (upper ? columns[32 + k] : columns[k]) + given;
            }
            upper = lane & 8;
#pragma unroll
            for (int k = 0; k < 16; k++) {
                float given = __shfl_xor_sync(~0u, upper ? columns[k] : columns[16 + k], 8);
                columns[k] = (upper ? columns[16 + k] : columns[k]) + given;
            }
            upper = lane & 4;
#pragma unroll
            for (int k = 0; k < 8; k++) {
                float given = __shfl_xor_sync(~0u, upper ? columns[k] : columns[8 + k], 4);
                columns[k] = (upper ? columns[8 + k] : columns[k]) + given;
            }
            u32 first = (lane & 16 ? 32 : 0) + (lane & 8 ? 16 : 0) + (lane & 4 ? 8 : 0);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                u32 at = first + k;
                shared.columns[group * 4 + warp][at / 2 * 8 + lane % 4 * 2 + at % 2] = columns[k];
            }
            asm volatile("bar.sync 1, 256;" ::: "memory");
            u32 own = threadIdx.x - 128, at = tile.col * TILE_COLS + own;
            float total = 0;
            for (int i = 0; i < 8; i++) total += shared.columns[i][own];
            if (at < rows) by_col[(size_t)tile.row * stride + at] = total;
            asm volatile("bar.sync 1, 256;" ::: "memory");
        }
    }
}

// All sums of a row, in a fixed order.
extern "C" __global__ void add_pair_sums(const float* by_row, const float* by_col, u32 rows, u32 stride, double* sums,
                                         float* inverses) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u32 row_tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, col_tiles = (rows + TILE_COLS - 1) / TILE_COLS;
    double sum = 0;
#pragma unroll 8
    for (u32 col = at / TILE_ROWS / 2; col < col_tiles; col++) sum += by_row[(size_t)col * stride + at];
    u32 last = min(row_tiles, 2 * (at / TILE_COLS) + 2);
#pragma unroll 8
    for (u32 row = 0; row < last; row++) sum += by_col[(size_t)row * stride + at];
    sums[at] = sum;
    inverses[at] = (float)(1 / sum);
}

// The weights e^((s − 1)/τ) (1/Dᵢ + 1/Dⱼ) `by` of the rows from `start` on with themselves and all later ones, of which
// `count` are rows and `cols` columns; rows of the result are `stride` apart.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    pair_weights(const __grid_constant__ CUtensorMap map, u32 start, u32 count, u32 cols, u32 depth, float factor,
                 const float* __restrict__ inverses, float by, u32 stride, __half* __restrict__ out) {
    extern __shared__ unsigned char raw[];
    Shared& shared = *(Shared*)(((u64)raw + 1023) / 1024 * 1024);
    begin(shared);
    u32 row_tiles = (count + TILE_ROWS - 1) / TILE_ROWS;
    u32 tiles = row_tiles * ((cols + TILE_COLS - 1) / TILE_COLS);
    Turn turn;
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                u32 row = tile % row_tiles, col = tile / row_tiles;
                fetch_tile(&map, shared, turn, depth, start + row * TILE_ROWS, start + col * TILE_COLS);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        u32 group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        u32 turns = 0;
        for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            u32 row = tile % row_tiles * TILE_ROWS + group * 64 + warp * 16 + lane / 4;
            u32 first = tile / row_tiles * TILE_COLS, low = lane % 4;
            float upper = row < count ? by * inverses[start + row] : 0.f;
            float lower = row + 8 < count ? by * inverses[start + row + 8] : 0.f;
            // What belongs to the columns; in turns, so that the last tile's may still be read.
            float* of_columns = shared.columns[turns++ % 2];
            u32 own_col = first + threadIdx.x - 128;
            of_columns[threadIdx.x - 128] = own_col < cols ? by * inverses[start + own_col] : 0.f;
            asm volatile("bar.sync 1, 256;" ::: "memory");
            float d[128];
            multiply_tile(d, shared, turn, depth, group);
            settle(d);
            bool diagonal = first < row + 64 && row < first + TILE_COLS + 64;
#pragma unroll
            for (int j = 0; j < 32; j += 4) {
                // Four lanes hold 32 columns of a row, each two of every eight; they trade so that each holds eight in
                // a row and stores them at once.
                u32 packed[2][4];
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    float2 one = *(const float2*)&of_columns[8 * (j + k) + 2 * low];
                    const float* s = &d[4 * (j + k)];
                    float a = power_of_two(fmaf(s[0], factor, -factor)) * (upper + one.x);
                    float b = power_of_two(fmaf(s[1], factor, -factor)) * (upper + one.y);
                    float e = power_of_two(fmaf(s[2], factor, -factor)) * (lower + one.x);
                    float f = power_of_two(fmaf(s[3], factor, -factor)) * (lower + one.y);
                    if (diagonal) {
                        u32 at = first + 8 * (j + k) + 2 * low;
                        a = at == row ? 0.f : a, b = at + 1 == row ? 0.f : b;
                        e = at == row + 8 ? 0.f : e, f = at + 1 == row + 8 ? 0.f : f;
                    }
                    __half2 top = __floats2half2_rn(a, b), bottom = __floats2half2_rn(e, f);
                    packed[0][k] = *(u32*)&top, packed[1][k] = *(u32*)&bottom;
                }
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    u32* own = packed[half];
                    // A transposition of four by four, by two exchanges.
                    u32 sent = low & 1 ? own[0] : own[1], more = low & 1 ? own[2] : own[3];
                    sent = __shfl_xor_sync(~0u, sent, 1), more = __shfl_xor_sync(~0u, more, 1);
                    if (low & 1) own[0] = sent, own[2] = more;
                    else own[1] = sent, own[3] = more;
                    sent = low & 2 ? own[0] : own[2], more = low & 2 ? own[1] : own[3];
                    sent = __shfl_xor_sync(~0u, sent, 2), more = __shfl_xor_sync(~0u, more, 2);
                    if (low & 2) own[0] = sent, own[1] = more;
                    else own[2] = sent, own[3] = more;
                    u32 to = row + 8 * half, at = first + 8 * (j + low);
                    // Rows are filled up to whole vectors of eight.
                    if (to < count && at < stride) {
                        *(uint4*)&out[(size_t)to * stride + at] = make_uint4(own[0], own[1], own[2], own[3]);
                    }
                }
            }
        }
    }
}
