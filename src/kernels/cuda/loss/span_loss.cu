// The loss and the prediction of answer spans. A segment is the rows of one sample in a micro-batch; one block
// of threads processes one segment. All arithmetic is in double, which costs little for two logits per row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/support/sums.cuh"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {
namespace {

using gpu::Accumulator;

constexpr unsigned segment_threads = 256;

struct RowRange {
    std::size_t begin;
    std::size_t length;
};

// Returns the row ranges of the segments, followed by the row ranges before, between and after the segments.
std::vector<RowRange> find_ranges(std::span<const Segment> segments, std::size_t rows) {
    std::vector<RowRange> ranges;
    for (const Segment& segment : segments) ranges.push_back({segment.begin, segment.length});
    std::vector<RowRange> sorted = ranges;
    std::ranges::sort(sorted, {}, &RowRange::begin);
    sorted.push_back({rows, 0});
    std::size_t end = 0;
    for (const RowRange& range : sorted) {
        if (range.begin > end) ranges.push_back({end, range.begin - end});
        end = std::max(end, range.begin + range.length);
    }
    return ranges;
}

// One column of the logits within one segment. Rows are counted from the segment's begin.
template <class T>
struct SegmentColumn {
    device::Elements<T> logits;
    std::size_t column;
    RowRange rows;

    __device__ T& at(std::size_t row) const { return logits(rows.begin + row, column); }
    __device__ double operator[](std::size_t row) const { return static_cast<double>(at(row)); }
};

template <class T>
__device__ double compute_log_sum_exp(const SegmentColumn<T>& x) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t r = threadIdx.x; r < x.rows.length; r += blockDim.x) {
        largest = x[r] > largest ? x[r] : largest;
    }
    largest = gpu::max_over_block(largest, -std::numeric_limits<double>::infinity());
    double sum = 0;
    for (std::size_t r = threadIdx.x; r < x.rows.length; r += blockDim.x) sum += std::exp(x[r] - largest);
    return largest + std::log(gpu::sum_over_block(sum));
}

// Returns the cross-entropy of one boundary (first or last row) of an answer; `answer_row` is the correct row.
// If `gradient_scale` is not 0, overwrites x with `gradient_scale` times the gradient of the cross-entropy. An
// answer beyond the segment makes the loss NaN; other backends throw.
template <class T>
__device__ double compute_boundary_loss(const SegmentColumn<T>& x, std::size_t answer_row,
                                        double gradient_scale) {
    const double logit = answer_row < x.rows.length ? x[answer_row] : std::numeric_limits<double>::quiet_NaN();
    const double log_sum = compute_log_sum_exp(x);
    if (gradient_scale != 0) {
        for (std::size_t r = threadIdx.x; r < x.rows.length; r += blockDim.x) {
            const double error = std::exp(x[r] - log_sum) - (r == answer_row ? 1 : 0);
            x.at(r) = static_cast<T>(static_cast<Accumulator<T>>(gradient_scale * error));
        }
    }
    return log_sum - logit;
}

template <class T>
struct SpanLossCall {
    device::Elements<T> logits;
    const RowRange* ranges;  // from find_ranges(); one block of threads processes each range
    std::size_t segments;    // number of segments
    device::Elements<const std::int32_t> answers;  // per segment: first and last row
    double* losses;
    double gradient_scale;
};

template <class T>
__device__ void write_zeros(const device::Elements<T>& logits, const RowRange& rows) {
    for (std::size_t r = threadIdx.x; r < rows.length; r += blockDim.x) {
        for (std::size_t boundary = 0; boundary < 2; ++boundary)
            logits(rows.begin + r, boundary) = static_cast<T>(Accumulator<T>{0});
    }
}

template <class T>
__global__ void __launch_bounds__(segment_threads) compute_span_losses(SpanLossCall<T> op) {
    const RowRange rows = op.ranges[blockIdx.x];
    const bool is_segment = blockIdx.x < op.segments;
    double loss_sum = 0;
    if (is_segment && op.answers(blockIdx.x, 0) != no_target) {
        for (std::size_t boundary = 0; boundary < 2; ++boundary) {
            const auto answer_row = static_cast<std::size_t>(op.answers(blockIdx.x, boundary));
            loss_sum +=
                compute_boundary_loss<T>({op.logits, boundary, rows}, answer_row, op.gradient_scale / 2);
        }
    } else if (op.gradient_scale != 0) {
        write_zeros(op.logits, rows);
    }
    if (is_segment && threadIdx.x == 0) op.losses[blockIdx.x] = loss_sum / 2;
}

// A pair of rows as one integer: first row << 32 | last row. If pairs have equal sums of logits, the pair with
// the lowest key wins.
using PairKey = unsigned long long;

constexpr PairKey no_pair = ~PairKey{0};

struct RowPair {
    double sum;  // logit of the first row + logit of the last row
    PairKey key;
};

__device__ PairKey make_pair_key(std::size_t first, std::size_t last) { return PairKey{first} << 32 | last; }

__device__ RowPair choose_better(const RowPair& a, const RowPair& b) {
    const bool is_a_better = a.sum > b.sum || (a.sum == b.sum && a.key < b.key);
    return is_a_better ? a : b;
}

__device__ RowPair shuffle_xor(const RowPair& pair, int distance) {
    return {gpu::shuffle_xor(pair.sum, distance), gpu::shuffle_xor(pair.key, distance)};
}

template <class T>
struct BestSpanCall {
    device::Elements<const T> logits;
    const RowRange* ranges;  // from find_ranges(); one block of threads processes the range of each segment
    device::Elements<const std::int32_t> contexts;  // per segment: rows [begin, end) that an answer may use
    // Per segment: first and last row of the best pair, or -1 and -1 if the context is empty.
    device::Elements<std::int32_t> choices;
    std::size_t max_rows;  // maximum number of rows of an answer
};

__device__ constexpr RowPair make_empty_pair() { return {-std::numeric_limits<double>::infinity(), no_pair}; }

// Returns the pair of rows with the largest sum of logits within rows [begin, end), among the pairs that span
// at most `max_rows` rows and whose sum is not NaN.
template <class T>
__device__ RowPair find_best_pair(const SegmentColumn<const T>& first_logits,
                                  const SegmentColumn<const T>& last_logits, std::size_t begin, std::size_t end,
                                  std::size_t max_rows) {
    RowPair best = make_empty_pair();
    for (std::size_t first = begin + threadIdx.x; first < end; first += blockDim.x) {
        const std::size_t limit = first + (max_rows < end - first ? max_rows : end - first);
        const double first_logit = first_logits[first];
        for (std::size_t last = first; last < limit; ++last) {
            const double sum = first_logit + last_logits[last];
            if (sum > best.sum || (sum == best.sum && best.key == no_pair))
                best = {sum, make_pair_key(first, last)};
        }
    }
    return gpu::reduce_block(
        best, [](const RowPair& a, const RowPair& b) { return choose_better(a, b); }, make_empty_pair());
}

// Writes the best pair of rows of each segment's context to `choices`. Let b be the first row of the context.
// If the sum of the pair (b, b) is NaN, this pair is chosen, as in the other backends.
template <class T>
__global__ void __launch_bounds__(segment_threads) find_best_spans(BestSpanCall<T> op) {
    const RowRange rows = op.ranges[blockIdx.x];
    const std::int32_t* const context = op.contexts.row(blockIdx.x);
    std::int32_t* const choice = op.choices.row(blockIdx.x);
    const auto begin = static_cast<std::size_t>(context[0] < 0 ? 0 : context[0]);
    const auto context_end = static_cast<std::size_t>(context[1] < 0 ? 0 : context[1]);
    const std::size_t end = context_end < rows.length ? context_end : rows.length;
    const bool is_empty = context[0] >= context[1] || begin >= end;
    const SegmentColumn<const T> first_logits{op.logits, 0, rows};
    const SegmentColumn<const T> last_logits{op.logits, 1, rows};
    RowPair best = make_empty_pair();
    if (!is_empty) best = find_best_pair<T>(first_logits, last_logits, begin, end, op.max_rows);
    if (threadIdx.x != 0) return;
    if (!is_empty && std::isnan(first_logits[begin] + last_logits[begin]))
        best.key = make_pair_key(begin, begin);
    choice[0] = is_empty ? -1 : static_cast<std::int32_t>(best.key >> 32);
    choice[1] = is_empty ? -1 : static_cast<std::int32_t>(best.key & 0x7FFFFFFFU);
}

}  // namespace

void run(device::CudaStream& stream, const SpanLoss& op) {
    const std::vector<RowRange> ranges = find_ranges(op.segments, op.logits.rows);
    const RowRange* const gpu_ranges = stream.work->upload(std::span<const RowRange>(ranges));
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const SpanLossCall<T> losses{.logits = gpu::get_elements<T>(op.logits),
                                     .ranges = gpu_ranges,
                                     .segments = op.segments.size(),
                                     .answers = gpu::get_elements<std::int32_t>(op.answers),
                                     .losses = gpu::get_elements<double>(op.losses).data,
                                     .gradient_scale = op.gradient_scale};
        gpu::launch_kernel(stream,
                           {.blocks_x = static_cast<unsigned>(ranges.size()), .threads = segment_threads},
                           compute_span_losses<T>, losses);
    });
}

void run(device::CudaStream& stream, const BestSpan& op) {
    const std::vector<RowRange> ranges = find_ranges(op.segments, op.logits.rows);
    const RowRange* const gpu_ranges = stream.work->upload(std::span<const RowRange>(ranges));
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const BestSpanCall<T> spans{.logits = gpu::get_elements<T>(op.logits),
                                    .ranges = gpu_ranges,
                                    .contexts = gpu::get_elements<std::int32_t>(op.contexts),
                                    .choices = gpu::get_elements<std::int32_t>(op.choices),
                                    .max_rows = op.max_rows};
        gpu::launch_kernel(stream,
                           {.blocks_x = static_cast<unsigned>(op.segments.size()), .threads = segment_threads},
                           find_best_spans<T>, spans);
    });
}

}  // namespace trireme::kernels
