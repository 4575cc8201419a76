#include "unit/stage/token_rows.hpp"

#include <algorithm>

#include "trireme/kernels/cross_entropy.hpp"

namespace trireme {
namespace {

template <class T>
ConstTensor view(const std::vector<T>& values) {
    return {values.data(), dtype_of<T>(), 1, values.size(), values.size()};
}

}  // namespace

TokenRows::TokenRows(std::span<const TokenSample> samples, std::size_t padded_length) {
    for (const TokenSample& sample : samples) {
        const std::size_t begin = tokens_.size();
        const std::size_t length = sample.tokens.size();
        segments_.push_back({.begin = begin, .length = length, .sample = sample.visit});
        tokens_.insert(tokens_.end(), sample.tokens.begin(), sample.tokens.end());
        targets_.insert(targets_.end(), sample.targets.begin(), sample.targets.end());
        for (std::size_t i = 0; i < length; ++i) positions_.push_back(static_cast<std::int32_t>(i));

        const std::size_t end = begin + std::max(length, padded_length);
        tokens_.resize(end, 0);
        targets_.resize(end, no_target);
        positions_.resize(end, 0);
        visits_.resize(end, sample.visit);
    }
}

void TokenRows::predict_only(std::size_t row, std::int32_t target) {
    std::fill(targets_.begin(), targets_.end(), no_target);
    targets_.at(row) = target;
}

TokenBatch TokenRows::batch() const {
    return {.tokens = view(tokens_),
            .targets = view(targets_),
            .positions = view(positions_),
            .visits = view(visits_),
            .segments = segments_};
}

}  // namespace trireme
