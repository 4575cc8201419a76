#include "trireme/plan/kernel_sums.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trireme::plan {
namespace {

// True if the quantity depends on at most one count of the shape, the count whose factor is factors[term].
bool depends_only_on(const LinearQuantity& quantity, std::size_t term) {
    for (std::size_t each = 1; each < LinearQuantity::terms; ++each)
        if (each != term && quantity.factors[each] != 0) return false;
    return true;
}

bool depends_only_on(const KernelFormula& kernel, std::size_t term) {
    return !kernel.is_for_partial_targets && depends_only_on(kernel.flops, term) &&
           depends_only_on(kernel.bytes, term) &&
           std::ranges::all_of(kernel.matmul,
                               [&](const LinearQuantity& each) { return depends_only_on(each, term); });
}

}  // namespace

KernelSums::KernelSums(const StageWork& work, bool splits_backward, KernelSeconds seconds)
    : work_(work), seconds_(std::move(seconds)) {
    for (const TrainingFormulas& formulas : work.formulas()) {
        ShapeRange& range = ranges_.emplace_back(ShapeRange{.max_rows = formulas.max_rows});
        add_kernels(formulas.forward, true, range);
        if (splits_backward) {
            add_kernels(formulas.backward_input, false, range);
            add_kernels(formulas.backward_weight, false, range);
        } else {
            add_kernels(formulas.backward, false, range);
        }
    }
}

void KernelSums::add_kernels(const PassFormula& pass, bool is_forward, ShapeRange& range) {
    constexpr std::size_t rows_term = 2;  // see LinearQuantity::factors
    constexpr std::size_t predicted_rows_term = 5;
    for (const KernelFormula& kernel : pass.kernels) {
        std::vector<Kernel>& kernels =
            depends_only_on(kernel, predicted_rows_term) && kernel.is_in_tiles ? range.by_predicted_rows.kernels
            : depends_only_on(kernel, rows_term) && !kernel.is_in_tiles        ? range.by_rows.kernels
                                                                               : range.others;
        kernels.push_back({.formula = &kernel, .is_forward = is_forward});
    }
}

PassTimes KernelSums::find(const MicrobatchShape& shape) {
    if (shape.rows == 0) return {};
    ShapeRange& range =
        *std::ranges::find_if(ranges_, [&](const ShapeRange& each) { return shape.rows <= each.max_rows; });
    Seconds total = add_up(range.others, shape);
    for (CountedKernels* const counted : {&range.by_rows, &range.by_predicted_rows}) {
        const Seconds sum = find_sum(*counted, shape);
        total.forward += sum.forward;
        total.backward += sum.backward;
    }
    return {.forward = std::llround(1e9 * total.forward), .backward = std::llround(1e9 * total.backward)};
}

KernelSums::Seconds KernelSums::find_sum(CountedKernels& counted, const MicrobatchShape& shape) {
    const std::size_t count = shape.*counted.count;
    if (counted.sums.size() <= count) counted.sums.resize(count + 1);
    Seconds& sum = counted.sums[count];
    if (sum.forward < 0) sum = add_up(counted.kernels, shape);
    return sum;
}

KernelSums::Seconds KernelSums::add_up(const std::vector<Kernel>& kernels, const MicrobatchShape& shape) const {
    Seconds sum{.forward = 0, .backward = 0};
    for (const Kernel& kernel : kernels)
        (kernel.is_forward ? sum.forward : sum.backward) +=
            work_.predict_kernel(*kernel.formula, shape, seconds_);
    return sum;
}

}  // namespace trireme::plan
