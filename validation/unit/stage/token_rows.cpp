#include "unit/stage/token_rows.hpp"

#include <algorithm>
#include <numeric>

namespace trireme::stage {
namespace {

template <class T>
device::ConstTensor view(const std::vector<T>& values, std::size_t rows = 1) {
    const std::size_t columns = rows == 0 ? 0 : values.size() / rows;
    return {values.data(), device::to_dtype<T>(), rows, columns, columns};
}

}  // namespace

TokenRows::TokenRows(std::span<const TokenSample> samples, std::size_t padded_length) {
    for (const TokenSample& sample : samples) append(sample, std::max(sample.tokens.size(), padded_length));
}

void TokenRows::append(const TokenSample& sample, std::size_t rows) {
    const std::size_t begin = tokens_.size();
    const std::size_t length = sample.tokens.size();
    segments_.push_back({.begin = begin, .length = length, .sample = sample.visit});
    tokens_.insert(tokens_.end(), sample.tokens.begin(), sample.tokens.end());
    types_.insert(types_.end(), sample.types.begin(), sample.types.end());
    positions_.resize(begin + length);
    std::iota(positions_.end() - static_cast<std::ptrdiff_t>(length), positions_.end(), 0);
    for (const std::int32_t row : sample.predicted_rows)
        predicted_.push_back(static_cast<std::int32_t>(begin) + row);
    targets_.insert(targets_.end(), sample.targets.begin(), sample.targets.end());
    answers_.insert(answers_.end(), sample.answer.begin(), sample.answer.end());
    contexts_.insert(contexts_.end(), sample.context.begin(), sample.context.end());
    pixels_.insert(pixels_.end(), sample.pixels.begin(), sample.pixels.end());

    const std::size_t end = begin + rows;
    tokens_.resize(end, 0);
    types_.resize(end, 0);
    positions_.resize(end, 0);
    visits_.resize(end, sample.visit);
}

void TokenRows::keep_prediction(std::size_t prediction, std::int32_t target) {
    predicted_ = {predicted_.at(prediction)};
    targets_ = {target};
}

void TokenRows::set_single_answer(std::size_t sample, std::array<std::int32_t, 2> answer) {
    std::fill(answers_.begin(), answers_.end(), -1);
    answers_.at(2 * sample) = answer[0];
    answers_.at(2 * sample + 1) = answer[1];
}

model::TokenBatch TokenRows::batch() const {
    model::TokenBatch batch{.tokens = view(tokens_),
                            .positions = view(positions_),
                            .types = view(types_),
                            .visits = view(visits_),
                            .segments = segments_,
                            .predicted_rows = view(predicted_),
                            .targets = view(targets_),
                            .answers = view(answers_, segments_.size()),
                            .contexts = view(contexts_, segments_.size()),
                            .pixels = {}};
    // Each row of pixels is a patch. An image has one token more than patches.
    if (!pixels_.empty()) batch.pixels = view(pixels_, tokens_.size() - segments_.size());
    return batch;
}

}  // namespace trireme::stage
