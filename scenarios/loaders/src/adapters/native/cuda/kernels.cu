// The transforms of `scenarios/docs/transforms.md` on a device.
//
// NVRTC compiles this file when a pipeline opens, with the pipeline's kernels behind it (`kernel.rs`). Each
// of those is one call of `draw` or `stage`, whose tables of transforms are constant: loops over them are
// unrolled, and a choice by them is made by the compiler. No operation may be contracted (`--fmad=false`), so
// that the bits are those of the host.

#define DEVICE static __device__ __forceinline__

typedef unsigned char u8;
typedef int i32;
typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

// A note: the draws of an element for a transform, or a sum of its numbers.
union Note {
    // The window of `RandomResizedCrop`, and by how much it is longer than what it is resized to.
    struct {
        double row_scale, column_scale;
        u32 top, left, rows, columns;
    } window;
    // The weights of `GaussianBlur`: of the middle, of its neighbours, and of theirs.
    float weights[3];
    // The sum of the numbers, for `ColorJitter`.
    u32 sum;
};
static_assert(sizeof(Note) == 32, "as `kernel.rs` makes room for it");

// The parameter of every kernel: a batch, or what one kernel left of it for the next. Each part has 64 bits.
struct Batch {
    const void* from;
    void* to;
    // The number of threads that have something to do.
    u64 threads;
    // The place of the first element in its data set, and the key of the epoch's draws.
    u64 element, draws;
    // The constants of `Normalize`, by the index on the last axis.
    const float *mean, *scale;
    Note* notes;
};
static_assert(sizeof(Batch) == 64, "as `pipeline.rs` fills it");

// The place of numbers in an element. A thread makes one cell of them: a pixel where a transform asks for
// pixels, else a number.
struct Shape {
    u32 numbers;
    // The length of the last axis, and of the others of an image.
    u32 last, rows, columns;
    // The number of notes of an element.
    u32 notes;
};

enum Transform {
    Add,
    AffineRotation,
    CastToFloat32,
    CheapTransform,
    Clip,
    ColorJitter,
    ExpensiveTransform,
    GaussianBlur,
    GaussianNoise,
    LogTransform,
    Multiply,
    Normalize, // of what is `u8` in the data set
    RandomBrightness,
    RandomCrop,
    RandomFlip,
    RandomGrayscale,
    RandomResizedCrop,
    RandomScale,
    RandomSolarize,
    Scale,
    Standardise, // `Normalize` of what is `f32` in the data set
};

struct Touch {
    Transform transform;
    // Its position in the pipeline, an address of its draws.
    u32 position;
    // The place of its note among those of an element.
    u32 note;
    // Whether the field is `u8` there.
    bool of_bytes;
    // Whether it is done for some elements alone: those whose draw at a position lies within bounds.
    bool is_gated;
    u32 decided_at;
    double from, below;
};

// The places that a stage gets its pixels from.
enum Reads { Itself, Window, AlongRow, AlongColumn };

struct Source {
    Reads reads;
    // The place of the note that says how, and whether what comes of it is `u8`.
    u32 note;
    bool of_bytes;
};

// The numbers of a cell. There are three at least, so that what needs colours can be written for all.
template <u32 WIDE>
struct Cell {
    float x[WIDE < 3 ? 3 : WIDE];
};

// ---- draws ------------------------------------------------------------------------------------------------

DEVICE u64 split(u64 seed, u64 index) {
    u64 z = seed + (index + 1) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

DEVICE double unit(u64 key, u64 number) {
    return (double)(split(key, number) >> 11) * 0x1p-53;
}

DEVICE double between(u64 key, u64 number, double low, double high) {
    return low + (high - low) * unit(key, number);
}

DEVICE u32 below(u64 key, u64 number, u32 bound) {
    return (u32)__umul64hi(split(key, number), bound);
}

DEVICE bool coin(u64 key, u64 number) {
    return split(key, number) >> 63;
}

DEVICE bool passes(const Touch& touch, u64 draws) {
    const double drawn = unit(split(draws, touch.decided_at), 1ull << 32);
    return !touch.is_gated || (drawn >= touch.from && drawn < touch.below);
}

// ---- functions --------------------------------------------------------------------------------------------

DEVICE double exp_of(double z) {
    const double y = z / 1024.0;
    double p = 1.0;
    for (i32 k = 13; k >= 1; k--) p = 1.0 + p * y / k;
    for (i32 i = 0; i < 10; i++) p = p * p;
    return p;
}

// `p * x + c` for each constant, the first of which is `p`.
template <u32 COUNT>
DEVICE float polynomial(float x, const float (&constants)[COUNT]) {
    float p = constants[0];
#pragma unroll
    for (u32 i = 1; i < COUNT; i++) p = p * x + constants[i];
    return p;
}

DEVICE float ln(float v) {
    constexpr float constants[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                   -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                   2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    const i32 i = __float_as_int(v);
    const i32 e = (i - 0x3f3504f3) >> 23;
    const float m = __int_as_float(i - (i32)((u32)e << 23));
    const float t = m - 1.0f;
    const float z = t * t;
    float y = (polynomial(t, constants) * t) * z;
    y = y + (float)e * -2.12194440e-4f;
    y = y - 0.5f * z;
    return (t + y) + (float)e * 0.693359375f;
}

DEVICE float log1p_abs(float x) {
    const float a = fabsf(x);
    const float u = 1.0f + a;
    return u == 1.0f || a == __int_as_float(0x7f800000) ? a : (ln(u) * a) / (u - 1.0f);
}

// `x`, negated where the lowest bit of a word is set.
DEVICE float negated(float x, u32 word) {
    return __int_as_float(__float_as_int(x) ^ (i32)(word << 31));
}

DEVICE float sincos_of(float x) {
    constexpr float sine[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    constexpr float cosine[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
    const float y = x * 0.6366197723675814f + 12582912.0f;
    const u32 q = (u32)__float_as_int(y);
    const float k = y - 12582912.0f;
    const float r = ((x - k * 1.5703125f) - k * 4.837512969970703125e-4f) - k * 7.54978995489188216e-8f;
    const float z = r * r;
    const float s = polynomial(z, sine) * z * r + r;
    const float c = (polynomial(z, cosine) * z * z - 0.5f * z) + 1.0f;
    return negated(c + negated(s, q), q >> 1);
}

DEVICE float normal(u64 key, u32 number) {
    constexpr float near[] = {2.81022636e-8f,  3.43273939e-7f,   -3.5233877e-6f,
                              -4.39150654e-6f, 0.00021858087f,   -0.00125372503f,
                              -0.00417768164f, 0.246640727f,     1.50140941f};
    constexpr float far[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f,
                             -0.00367342844f,  0.00573950773f,  -0.0076224613f,
                             0.00943887047f,   1.00167406f,     2.83297682f};
    const u64 bits = split(key, number / 2);
    const i32 k = (i32)(number % 2 == 0 ? bits >> 40 : (bits >> 16) & 0xffffff);
    const float x = (float)(2 * k + 1 - (1 << 24)) * 0x1p-24f;
    const float w = -ln((1.0f - x) * (1.0f + x));
    const float p = w < 5.0f ? polynomial(w - 2.5f, near) : polynomial(sqrtf(w) - 3.0f, far);
    return (p * x) * 1.4142135623730951f;
}

// ---- colours ----------------------------------------------------------------------------------------------

// `x` limited to 0 to `top`. Not `max` and `min`, which lose NaN and the sign of zero.
DEVICE float limit(float x, float top) {
    x = x < 0.0f ? 0.0f : x;
    return x > top ? top : x;
}

// A number as a transform of colours leaves it: of bytes, limited to their range and rounded.
DEVICE float settle(float x, bool of_bytes) {
    return of_bytes ? rintf(limit(x, 255.0f)) : x;
}

DEVICE float grey(const float* x) {
    return ((x[0] + x[1]) + x[2]) / 3.0f;
}

template <u32 WIDE>
DEVICE void random_grayscale(Cell<WIDE>& cell, u64 key, bool of_bytes) {
    const float all = settle(grey(cell.x), of_bytes);
    const bool is_grey = unit(key, 0) < 0.2;
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) cell.x[i] = is_grey ? all : cell.x[i];
}

// `ColorJitter` of an image of bytes, whose sum is known.
template <u32 WIDE>
DEVICE void color_jitter(Cell<WIDE>& cell, u64 key, u32 sum, u32 numbers) {
    const float b = (float)(between(key, 0, -0.4, 0.4) * 255.0);
    const float c = (float)between(key, 1, 0.6, 1.4);
    const float s = (float)between(key, 2, 0.6, 1.4);
    const float n = (float)((double)sum / numbers) + b;
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) cell.x[i] = ((cell.x[i] + b) - n) * c + n;
    const float g = grey(cell.x);
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) cell.x[i] = settle((cell.x[i] - g) * s + g, true);
}

// ---- windows and neighbours -------------------------------------------------------------------------------

DEVICE u32 least(u32 a, u32 b) {
    return a < b ? a : b;
}

template <u32 WIDE, class From>
DEVICE Cell<WIDE> load(const From* element, u32 cell) {
    Cell<WIDE> loaded = {};
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) loaded.x[i] = (float)element[(u64)cell * WIDE + i];
    return loaded;
}

DEVICE void draw_window(Note& note, u64 key, const Shape& shape) {
    constexpr double LN_4_3 = 0.28768207245178085;
    double height = shape.rows, width = shape.columns;
    for (u64 attempt = 0; attempt < 10; attempt++) {
        const double area = between(key, 2 * attempt, 0.08, 1.0) * ((double)shape.rows * shape.columns);
        const double ratio = exp_of(between(key, 2 * attempt + 1, -LN_4_3, LN_4_3));
        const double wide = floor(sqrt(area * ratio) + 0.5);
        const double tall = floor(sqrt(area / ratio) + 0.5);
        if (wide >= 1.0 && wide <= shape.columns && tall >= 1.0 && tall <= shape.rows) {
            height = tall;
            width = wide;
            break;
        }
    }
    auto& window = note.window;
    window.row_scale = height / shape.rows;
    window.column_scale = width / shape.columns;
    window.rows = (u32)height;
    window.columns = (u32)width;
    window.top = below(key, 20, shape.rows - window.rows + 1);
    window.left = below(key, 21, shape.columns - window.columns + 1);
}

DEVICE void draw_weights(Note& note, u64 key) {
    const double d = between(key, 0, 0.1, 2.0);
    const double a = exp_of(-0.5 / (d * d));
    const double b = (a * a) * (a * a);
    const double n = 1.0 + 2.0 * (a + b);
    note.weights[0] = (float)(1.0 / n);
    note.weights[1] = (float)(a / n);
    note.weights[2] = (float)(b / n);
}

// The origin of pixel `index` of a resized axis: two of `count` neighbours, and how far it is from the first
// to the second.
struct Neighbours {
    u32 first, second;
    float way;
};

DEVICE Neighbours neighbours(u32 index, double scale, u32 count) {
    const double middle = (index + 0.5) * scale - 0.5;
    const double place = middle < 0.0 ? 0.0 : middle;
    const u32 first = least((u32)floor(place), count - 1);
    return {first, least(first + 1, count - 1), (float)(place - first)};
}

// A pixel of a window that is resized to the image.
template <u32 WIDE, class From>
DEVICE Cell<WIDE> resized(const From* element, u32 cell, const Shape& shape, const Note& note,
                          bool of_bytes) {
    const auto& window = note.window;
    const Neighbours down = neighbours(cell / shape.columns, window.row_scale, window.rows);
    const Neighbours right = neighbours(cell % shape.columns, window.column_scale, window.columns);
    auto pixel = [&](u32 row, u32 column) {
        return load<WIDE>(element, (window.top + row) * shape.columns + window.left + column);
    };
    const Cell<WIDE> a = pixel(down.first, right.first), b = pixel(down.first, right.second);
    const Cell<WIDE> c = pixel(down.second, right.first), d = pixel(down.second, right.second);
    Cell<WIDE> made = {};
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) {
        const float upper = a.x[i] + (b.x[i] - a.x[i]) * right.way;
        const float lower = c.x[i] + (d.x[i] - c.x[i]) * right.way;
        made.x[i] = settle(upper + (lower - upper) * down.way, of_bytes);
    }
    return made;
}

// A pixel blurred along one axis. Along the rows nothing is rounded.
template <u32 WIDE, class From>
DEVICE Cell<WIDE> blurred(const From* element, u32 cell, const Shape& shape, const Note& note,
                          const Source& source) {
    const bool in_row = source.reads == AlongRow;
    const i32 row = cell / shape.columns, column = cell % shape.columns;
    const i32 last = (in_row ? shape.columns : shape.rows) - 1;
    // The pixel `offset` places on, or the one at the edge.
    auto pixel = [&](i32 offset) {
        i32 place = (in_row ? column : row) + offset;
        place = place < 0 ? 0 : place > last ? last : place;
        return load<WIDE>(element, in_row ? row * shape.columns + place : place * shape.columns + column);
    };
    const Cell<WIDE> a = pixel(-2), b = pixel(-1), c = pixel(0), d = pixel(1), e = pixel(2);
    const float* k = note.weights;
    Cell<WIDE> made = {};
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) {
        const float x = (k[0] * c.x[i] + k[1] * (b.x[i] + d.x[i])) + k[2] * (a.x[i] + e.x[i]);
        made.x[i] = settle(x, source.of_bytes && !in_row);
    }
    return made;
}

// ---- transforms -------------------------------------------------------------------------------------------

// Tells whether a transform gives pixels another place, or none, and leaves their numbers as they are.
DEVICE bool is_move(Transform transform) {
    return transform == AffineRotation || transform == RandomCrop || transform == RandomFlip;
}

// The place that a moved pixel comes from; the pixel is 0 where nothing exists there.
struct Origin {
    u32 cell;
    bool exists;
};

DEVICE Origin origin(const Touch& touch, u64 draws, u32 cell, const Shape& shape) {
    const u64 key = split(draws, touch.position);
    u32 row = cell / shape.columns, column = cell % shape.columns;
    if (!passes(touch, draws)) return {cell, true};
    if (touch.transform == RandomCrop) {
        const u32 rows = (u32)((u64)shape.rows * 7 / 8), columns = (u32)((u64)shape.columns * 7 / 8);
        // What is outside reads itself: something has to be read.
        if (row >= rows || column >= columns) return {cell, false};
        row += below(key, 0, shape.rows - rows + 1);
        column += below(key, 1, shape.columns - columns + 1);
    } else if (touch.transform == RandomFlip) {
        if (coin(key, 0)) column = shape.columns - 1 - column;
    } else {
        for (u32 turns = below(key, 0, 4); turns > 0; turns--) {
            const u32 was = row;
            row = column;
            column = shape.columns - 1 - was;
        }
    }
    return {row * shape.columns + column, true};
}

// The number at a place of its element, transformed.
DEVICE float changed(const Touch& touch, float x, u64 key, u32 number, const Batch& batch,
                     const Shape& shape) {
    switch (touch.transform) {
    case Add:
    case CheapTransform:
        return x + 0.1f;
    case Clip:
        return limit(x, 1.0f);
    case ExpensiveTransform:
#pragma unroll
        for (u32 i = 0; i < 8; i++) x = sincos_of(x);
        return x;
    case GaussianNoise:
        return x + 0.05f * normal(key, number);
    case LogTransform:
        return log1p_abs(x);
    case Multiply:
        return x * 0.9f;
    case Normalize:
        return x / 255.0f;
    case RandomBrightness:
        return x + (float)between(key, 0, -0.2, 0.2);
    case RandomScale:
        return x * (float)between(key, 0, 0.8, 1.2);
    case RandomSolarize: {
        const float half = touch.of_bytes ? 128.0f : 0.5f, top = touch.of_bytes ? 255.0f : 1.0f;
        return x >= half && coin(key, 0) ? top - x : x;
    }
    case Scale:
        return x * 2.0f;
    case Standardise:
        return (x - batch.mean[number % shape.last]) * batch.scale[number % shape.last];
    default:
        return x;
    }
}

// ---- kernels ----------------------------------------------------------------------------------------------

DEVICE u64 this_thread() {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

// Draws once for each element what all its cells share, and begins its sums.
template <u32 COUNT>
DEVICE void draw(const Batch& batch, const Shape& shape, const Touch (&noted)[COUNT]) {
    const u64 element = this_thread();
    if (element >= batch.threads) return;
    const u64 draws = split(batch.draws, batch.element + element);
#pragma unroll
    for (u32 i = 0; i < COUNT; i++) {
        Note& note = batch.notes[element * shape.notes + noted[i].note];
        const u64 key = split(draws, noted[i].position);
        if (noted[i].transform == RandomResizedCrop) {
            draw_window(note, key, shape);
        } else if (noted[i].transform == GaussianBlur) {
            draw_weights(note, key);
        } else {
            note.sum = 0;
        }
    }
}

// Makes one cell: reads it, or what it comes from, and does some transforms. `sums` is the place of the note
// that its numbers are added to, below 0 if there is none.
template <class From, class To, u32 WIDE, u32 COUNT>
DEVICE void stage(const Batch& batch, const Shape& shape, const Source& source, const Touch (&touches)[COUNT],
                  i32 sums) {
    const u64 thread = this_thread();
    if (thread >= batch.threads) return;
    const u32 cells = shape.numbers / WIDE;
    const u64 element = thread / cells;
    const u64 draws = split(batch.draws, batch.element + element);
    Note* notes = batch.notes + element * shape.notes;
    // Transforms that move pixels say where each comes from: so cells are found from the last to the first.
    Origin places[COUNT];
    Origin place = {(u32)(thread % cells), true};
    const u64 written = element * shape.numbers + (u64)place.cell * WIDE;
#pragma unroll
    for (i32 i = COUNT - 1; i >= 0; i--) {
        places[i] = {place.cell, true};
        if (is_move(touches[i].transform)) {
            place = origin(touches[i], draws, place.cell, shape);
            places[i].exists = place.exists;
        }
    }
    const From* from = (const From*)batch.from + element * shape.numbers;
    Cell<WIDE> cell;
    if (source.reads == Itself) {
        cell = load<WIDE>(from, place.cell);
    } else if (source.reads == Window) {
        cell = resized<WIDE>(from, place.cell, shape, notes[source.note], source.of_bytes);
    } else {
        cell = blurred<WIDE>(from, place.cell, shape, notes[source.note], source);
    }
#pragma unroll
    for (u32 t = 0; t < COUNT; t++) {
        const Touch& touch = touches[t];
        const u64 key = split(draws, touch.position);
        const Cell<WIDE> before = cell;
        if (touch.transform == RandomGrayscale) {
            random_grayscale(cell, key, touch.of_bytes);
        } else if (touch.transform == ColorJitter) {
            color_jitter(cell, key, notes[touch.note].sum, shape.numbers);
        } else {
#pragma unroll
            for (u32 i = 0; i < WIDE; i++)
                cell.x[i] = changed(touch, cell.x[i], key, places[t].cell * WIDE + i, batch, shape);
        }
        const bool through = is_move(touch.transform) || passes(touch, draws);
#pragma unroll
        for (u32 i = 0; i < WIDE; i++)
            cell.x[i] = !places[t].exists ? 0.0f : through ? cell.x[i] : before.x[i];
    }
#pragma unroll
    for (u32 i = 0; i < WIDE; i++) ((To*)batch.to)[written + i] = (To)cell.x[i];
    if (sums >= 0) {
        // Of whole numbers: their order does not matter.
        u32 sum = 0;
#pragma unroll
        for (u32 i = 0; i < WIDE; i++) sum += (u32)cell.x[i];
        atomicAdd(&notes[sums].sum, sum);
    }
}
