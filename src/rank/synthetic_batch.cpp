#include "rank/synthetic_batch.hpp"

#include <cmath>

#include "trireme/base/random.hpp"

namespace trireme::rank {
namespace {

constexpr std::int32_t no_target = -1;

class BatchMaker {
public:
    BatchMaker(const model::ModelConfig& model, std::size_t length, double mask_fraction)
        : model_(model), length_(length), mask_fraction_(mask_fraction) {}

    void add_sample() {
        // The visit is part of the key of dropout's random numbers, so it is unique per sample.
        const auto visit = static_cast<std::int64_t>(batch_.spans.size());
        batch_.spans.push_back({.begin = batch_.rows(), .length = length_, .visit = visit});
        for (std::size_t i = 0; i < length_; ++i) {
            batch_.tokens.push_back(model_.reads_images() ? 0 : draw_number_below(model_.vocabulary));
            batch_.positions.push_back(static_cast<std::int32_t>(i));
            batch_.types.push_back(0);
            batch_.visits.push_back(visit);
            batch_.targets.push_back(no_target);
        }
        add_targets(batch_.spans.back().begin);
        if (model_.reads_images()) add_pixels();
    }

    data::Batch take() { return std::move(batch_); }

private:
    std::int32_t draw_number_below(std::size_t limit) {
        return static_cast<std::int32_t>(random_block(RandomKey{}.then("made up"), drawn_count_++)[0] % limit);
    }

    void add_target(std::size_t row, std::int32_t target) {
        batch_.targets[row] = target;
        batch_.predicted_rows.push_back(static_cast<std::int32_t>(row));
        ++batch_.target_count;
    }

    // Adds the targets of the sample whose first row is `first_row`.
    void add_targets(std::size_t first_row) {
        switch (model_.task) {
            case Task::language:
                for (std::size_t i = 0; i < length_; ++i)
                    add_target(first_row + i, draw_number_below(model_.vocabulary));
                return;
            case Task::masked: {
                const auto masked_count =
                    static_cast<std::size_t>(std::ceil(mask_fraction_ * static_cast<double>(length_)));
                for (std::size_t i = 0; i < masked_count; ++i)
                    add_target(first_row + i, draw_number_below(model_.vocabulary));
                return;
            }
            case Task::span:
                // The answer is the first row, and the context is the whole sample.
                batch_.answers.insert(batch_.answers.end(), {0, 0});
                batch_.contexts.insert(batch_.contexts.end(), {0, static_cast<std::int32_t>(length_)});
                ++batch_.target_count;
                return;
            case Task::classify:
                return add_target(first_row, draw_number_below(model_.labels));
        }
    }

    void add_pixels() {
        // The first row of an image is its class token, which has no pixels.
        const std::size_t value_count = (length_ - 1) * model_.image.count_patch_values();
        for (std::size_t v = 0; v < value_count; ++v) {
            batch_.pixels.push_back(static_cast<float>(draw_number_below(256)) / 128 - 1);
        }
    }

    const model::ModelConfig& model_;
    std::size_t length_;
    double mask_fraction_;
    std::uint64_t drawn_count_ = 0;
    data::Batch batch_;
};

}  // namespace

data::Batch make_synthetic_batch(const model::ModelConfig& model, std::size_t samples, std::size_t length,
                                 double mask_fraction) {
    BatchMaker maker(model, length, mask_fraction);
    for (std::size_t s = 0; s < samples; ++s) maker.add_sample();
    return maker.take();
}

}  // namespace trireme::rank
