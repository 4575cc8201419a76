// One block per segment. All arithmetic is in double, because there are only two numbers per row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cuda/support/sums.cuh"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {
namespace {

using gpu::Wide;

constexpr unsigned segment_threads = 256;

struct RowRange {
    std::size_t begin;
    std::size_t length;
};

// Returns the row ranges of the segments, followed by the ranges before, between and after them.
std::vector<RowRange> ranges_of(std::span<const Segment> segments, std::size_t rows) {
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
__device__ double log_of_sum(const SegmentColumn<T>& x) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t r = threadIdx.x; r < x.rows.length; r += blockDim.x) {
        largest = x[r] > largest ? x[r] : largest;
    }
    largest = gpu::block_maximum(largest, -std::numeric_limits<double>::infinity());
    double sum = 0;
    for (std::size_t r = threadIdx.x; r < x.rows.length; r += blockDim.x) sum += std::exp(x[r] - largest);
    return largest + std::log(gpu::block_sum(sum));
}

// Returns the loss of the first or last row of an answer; `right` is the correct row. If `gradient_scale` is
// not 0, overwrites x with `gradient_scale` times its gradient. An answer beyond the segment makes the loss
// NaN; other backends throw.
template <class T>
__device__ double end_loss(const SegmentColumn<T>& x, std::size_t right, double gradient_scale) {
    const double logit = right < x.rows.length ? x[right] : std::numeric_limits<double>::quiet_NaN();
    const double log_sum = log_of_sum(x);
    if (gradient_scale != 0) {
        for (std::size_t r = threadIdx.x; r < x.rows.length; r += blockDim.x) {
            const double error = std::exp(x[r] - log_sum) - (r == right ? 1 : 0);
            x.at(r) = static_cast<T>(static_cast<Wide<T>>(gradient_scale * error));
        }
    }
    return log_sum - logit;
}

template <class T>
struct Losses {
    device::Elements<T> logits;
    const RowRange* ranges;
    std::size_t segments;
    device::Elements<const std::int32_t> answers;
    double* losses;
    double gradient_scale;
};

template <class T>
__device__ void write_zeros(const device::Elements<T>& logits, const RowRange& rows) {
    for (std::size_t r = threadIdx.x; r < rows.length; r += blockDim.x) {
        for (std::size_t end = 0; end < 2; ++end) logits(rows.begin + r, end) = static_cast<T>(Wide<T>{0});
    }
}

template <class T>
__global__ void __launch_bounds__(segment_threads) span_losses(Losses<T> op) {
    const RowRange rows = op.ranges[blockIdx.x];
    const bool is_segment = blockIdx.x < op.segments;
    double twice = 0;
    if (is_segment && op.answers(blockIdx.x, 0) != no_target) {
        for (std::size_t end = 0; end < 2; ++end) {
            const auto right = static_cast<std::size_t>(op.answers(blockIdx.x, end));
            twice += end_loss<T>({op.logits, end, rows}, right, op.gradient_scale / 2);
        }
    } else if (op.gradient_scale != 0) {
        write_zeros(op.logits, rows);
    }
    if (is_segment && threadIdx.x == 0) op.losses[blockIdx.x] = twice / 2;
}

using PairName = unsigned long long;  // first row << 32 | last row; the lowest wins a tie

constexpr PairName no_pair = ~PairName{0};

struct RowPair {
    double sum;
    PairName name;
};

__device__ PairName name_of(std::size_t first, std::size_t last) { return PairName{first} << 32 | last; }

__device__ RowPair better(const RowPair& a, const RowPair& b) {
    const bool is_a_first = a.sum > b.sum || (a.sum == b.sum && a.name < b.name);
    return is_a_first ? a : b;
}

__device__ RowPair exchanged(const RowPair& pair, int distance) {
    return {gpu::exchanged(pair.sum, distance), gpu::exchanged(pair.name, distance)};
}

template <class T>
struct Spans {
    device::Elements<const T> logits;
    const RowRange* segments;
    device::Elements<const std::int32_t> contexts;
    device::Elements<std::int32_t> choices;
    std::size_t longest;
};

__device__ constexpr RowPair nothing_found() { return {-std::numeric_limits<double>::infinity(), no_pair}; }

// Returns the best answer within rows [begin, end) among those whose sum is not NaN.
template <class T>
__device__ RowPair best_pair(const SegmentColumn<const T>& firsts, const SegmentColumn<const T>& lasts,
                             std::size_t begin, std::size_t end, std::size_t longest) {
    RowPair best = nothing_found();
    for (std::size_t first = begin + threadIdx.x; first < end; first += blockDim.x) {
        const std::size_t limit = first + (longest < end - first ? longest : end - first);
        const double first_logit = firsts[first];
        for (std::size_t last = first; last < limit; ++last) {
            const double sum = first_logit + lasts[last];
            if (sum > best.sum || (sum == best.sum && best.name == no_pair)) best = {sum, name_of(first, last)};
        }
    }
    return gpu::of_block(
        best, [](const RowPair& a, const RowPair& b) { return better(a, b); }, nothing_found());
}

// If the sum of the first pair is NaN, that pair is chosen, because no other sum compares as larger.
template <class T>
__global__ void __launch_bounds__(segment_threads) best_spans(Spans<T> op) {
    const RowRange rows = op.segments[blockIdx.x];
    const std::int32_t* const context = op.contexts.row(blockIdx.x);
    std::int32_t* const choice = op.choices.row(blockIdx.x);
    const auto begin = static_cast<std::size_t>(context[0] < 0 ? 0 : context[0]);
    const auto wanted = static_cast<std::size_t>(context[1] < 0 ? 0 : context[1]);
    const std::size_t end = wanted < rows.length ? wanted : rows.length;
    const bool is_empty = context[0] >= context[1] || begin >= end;
    const SegmentColumn<const T> firsts{op.logits, 0, rows};
    const SegmentColumn<const T> lasts{op.logits, 1, rows};
    RowPair best = nothing_found();
    if (!is_empty) best = best_pair<T>(firsts, lasts, begin, end, op.longest);
    if (threadIdx.x != 0) return;
    if (!is_empty && std::isnan(firsts[begin] + lasts[begin])) best.name = name_of(begin, begin);
    choice[0] = is_empty ? -1 : static_cast<std::int32_t>(best.name >> 32);
    choice[1] = is_empty ? -1 : static_cast<std::int32_t>(best.name & 0x7FFFFFFFU);
}

}  // namespace

void run(device::CudaStream& stream, const SpanLoss& op) {
    const std::vector<RowRange> ranges = ranges_of(op.segments, op.logits.rows);
    const RowRange* const told = stream.work->tell(std::span<const RowRange>(ranges));
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const Losses<T> losses{.logits = gpu::elements<T>(op.logits),
                               .ranges = told,
                               .segments = op.segments.size(),
                               .answers = gpu::elements<std::int32_t>(op.answers),
                               .losses = gpu::elements<double>(op.losses).data,
                               .gradient_scale = op.gradient_scale};
        gpu::start(stream, {.blocks_x = static_cast<unsigned>(ranges.size()), .threads = segment_threads},
                   span_losses<T>, losses);
    });
}

void run(device::CudaStream& stream, const BestSpan& op) {
    const std::vector<RowRange> ranges = ranges_of(op.segments, op.logits.rows);
    const RowRange* const told = stream.work->tell(std::span<const RowRange>(ranges));
    gpu::visit_type(op.logits.dtype, [&]<class T>(T) {
        const Spans<T> spans{.logits = gpu::elements<T>(op.logits),
                             .segments = told,
                             .contexts = gpu::elements<std::int32_t>(op.contexts),
                             .choices = gpu::elements<std::int32_t>(op.choices),
                             .longest = op.longest};
        gpu::start(stream, {.blocks_x = static_cast<unsigned>(op.segments.size()), .threads = segment_threads},
                   best_spans<T>, spans);
    });
}

}  // namespace trireme::kernels
