#include "trireme/data/batch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/targets.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::data {
namespace {

float brightness(std::uint8_t byte) { return static_cast<float>(byte) / 127.5F - 1.0F; }

// Appends the patch of all channels whose first pixel is (top, left).
void append_patch(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                  std::size_t top, std::size_t left, std::vector<float>& rows) {
    for (std::size_t channel = 0; channel < image.channels; ++channel)
        for (std::size_t y = top; y < top + patch; ++y) {
            const std::size_t begin = (channel * image.height + y) * image.width + left;
            for (const std::uint8_t byte : pixels.subspan(begin, patch)) rows.push_back(brightness(byte));
        }
}

// Returns the number of patches of an image. Throws BugError if they do not cover it exactly.
std::size_t count_patches(const ImageSize& image, std::size_t patch) {
    if (patch == 0 || image.height % patch != 0 || image.width % patch != 0)
        throw BugError(
            cat("patches of ", patch, " pixels do not cover images of ", image.height, " x ", image.width));
    return (image.height / patch) * (image.width / patch);
}

// Appends the rows (patches, channels * patch * patch) of pixels (channels, height, width). Patches follow each
// other row by row of the image. Within a patch, channels come first, then rows. Byte p becomes p / 127.5 - 1.
void append_patches(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                    std::vector<float>& rows) {
    for (std::size_t top = 0; top < image.height; top += patch)
        for (std::size_t left = 0; left < image.width; left += patch)
            append_patch(pixels, image, patch, top, left, rows);
}

constexpr std::int32_t nothing_to_predict = -1;

std::int64_t number_of(const plan::SampleVisit& visit, std::span<const Sample> samples) {
    return static_cast<std::int64_t>(visit.epoch * samples.size() + visit.sample);
}

// Returns the number of tokens between [CLS] and [SEP].
std::size_t framed_tokens(const Sample& sample) { return sample.length - 2; }

// Writes samples one after another into the rows of a batch.
class BatchWriter {
public:
    BatchWriter(const Corpus& corpus, const BatchRules& rules, std::size_t rows)
        : corpus_(corpus), rules_(rules) {
        if (rules.task == Task::masked) masking_.emplace(corpus.info(), rules.mask_key, rules.mask_share);
        batch_.tokens.assign(rows, 0);
        batch_.targets.assign(rows, nothing_to_predict);
        batch_.positions.assign(rows, 0);
        batch_.types.assign(rows, 0);
        batch_.visits.assign(rows, 0);
    }

    // Writes a sample to rows [begin, begin + sample.length).
    void write(std::size_t begin, const Sample& sample, std::int64_t visit) {
        begin_ = begin;
        for (std::size_t i = 0; i < sample.length; ++i) {
            batch_.positions[begin + i] = static_cast<std::int32_t>(i);
            batch_.visits[begin + i] = visit;
        }
        batch_.spans.push_back({.begin = begin, .length = sample.length, .visit = visit});
        switch (rules_.task) {
            case Task::language:
                return write_language(sample);
            case Task::masked:
                return write_masked(sample, visit);
            case Task::span:
                return write_span(sample);
            case Task::classify:
                return write_classify(sample);
        }
    }

    Batch finish() {
        for (std::size_t row = 0; row < batch_.rows(); ++row)
            if (batch_.targets[row] != nothing_to_predict)
                batch_.predicted.push_back(static_cast<std::int32_t>(row));
        batch_.target_count = answered_ + batch_.predicted.size();
        return std::move(batch_);
    }

private:
    void write_language(const Sample& sample) {
        const std::uint64_t length = corpus_.row_length(sample.row);
        const bool ends_row = std::uint64_t{sample.begin} + sample.length == length;
        corpus_.read(sample.row, sample.begin, sample.length + (ends_row ? 0 : 1), row_);
        // If there is no end token, the index has no sample that predicts it.
        if (ends_row) row_.push_back(corpus_.info().special.end.value());
        for (std::size_t i = 0; i < sample.length; ++i) {
            show(i, row_[i]);
            expect(i, row_[i + 1]);
        }
    }

    void write_masked(const Sample& sample, std::int64_t visit) {
        write_framed(sample);
        for (const std::size_t place : masking_->places(visit, framed_tokens(sample))) {
            const std::uint32_t token = row_[place - 1];
            show(place, masking_->shown(visit, place, token));
            expect(place, token);
        }
    }

    void write_framed(const Sample& sample) {
        const SpecialTokens& special = corpus_.info().special;
        corpus_.read(sample.row, sample.begin, framed_tokens(sample), row_);
        show(0, special.classify.value());
        for (std::size_t i = 0; i < row_.size(); ++i) show(1 + i, row_[i]);
        show(1 + row_.size(), special.separator.value());
    }

    void write_span(const Sample& sample) {
        const SpecialTokens& special = corpus_.info().special;
        const Question places = corpus_.places(sample.row);
        const SpanRows rows = span_rows(places, sample.length);
        corpus_.read(sample.row, 0, sample.length - span_specials, row_);
        show(0, special.classify.value());
        for (std::size_t i = 0; i < row_.size(); ++i) show(i + (i < places.context_begin ? 1 : 2), row_[i]);
        show(places.context_begin + std::size_t{1}, special.separator.value());
        show(sample.length - std::size_t{1}, special.separator.value());
        std::fill_n(batch_.types.begin() + static_cast<std::ptrdiff_t>(begin_) + rows.context_begin,
                    static_cast<std::ptrdiff_t>(sample.length) - rows.context_begin, 1);
        batch_.contexts.insert(batch_.contexts.end(), {rows.context_begin, rows.context_end});
        batch_.answers.insert(batch_.answers.end(), {rows.answer_first, rows.answer_last});
        if (rows.is_answered()) ++answered_;
    }

    void write_classify(const Sample& sample) {
        if (corpus_.info().kind == RowKind::image) {
            write_image(sample);
        } else {
            write_framed(sample);
        }
        const std::uint32_t label = corpus_.label(sample.row);
        expect(0, rules_.labels.empty() ? label : rules_.labels.at(label));
    }

    void write_image(const Sample& sample) {
        const ImageSize& image = corpus_.info().image;
        if (sample.length != 1 + count_patches(image, rules_.patch))
            throw BugError(cat("a sample of ", sample.length, " rows for an image of ",
                               count_patches(image, rules_.patch), " patches"));
        corpus_.read_image(sample.row, pixels_);
        append_patches(pixels_, image, rules_.patch, batch_.pixels);
    }

    void show(std::size_t place, std::uint32_t token) {
        batch_.tokens[begin_ + place] = static_cast<std::int32_t>(token);
    }
    void expect(std::size_t place, std::uint32_t target) {
        batch_.targets[begin_ + place] = static_cast<std::int32_t>(target);
    }

    const Corpus& corpus_;
    const BatchRules& rules_;
    std::optional<Masking> masking_;
    std::size_t begin_ = 0;     // first row of the current sample
    std::size_t answered_ = 0;  // answered questions
    std::vector<std::uint32_t> row_;
    std::vector<std::uint8_t> pixels_;
    Batch batch_;
};

std::size_t packed_rows(const std::vector<plan::SampleVisit>& visits, std::span<const Sample> samples) {
    std::size_t rows = 0;
    for (const plan::SampleVisit& visit : visits) rows += samples[visit.sample].length;
    return rows;
}

}  // namespace

plan::Microbatch make_microbatch(std::vector<plan::SampleVisit> visits, std::span<const Sample> samples,
                                 plan::LengthPolicy policy, std::size_t longest) {
    std::size_t padded = 0;
    switch (policy) {
        case plan::LengthPolicy::fixed:
            padded = longest;
            break;
        case plan::LengthPolicy::pad:
            for (const plan::SampleVisit& visit : visits) {
                padded = std::max<std::size_t>(padded, samples[visit.sample].length);
            }
            break;
        case plan::LengthPolicy::pack:
            break;
    }
    return {.samples = std::move(visits), .padded_length = padded};
}

Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                  const plan::Microbatch& microbatch) {
    const bool is_packed = microbatch.padded_length == 0;
    const std::size_t rows = is_packed ? packed_rows(microbatch.samples, samples)
                                       : microbatch.samples.size() * microbatch.padded_length;
    BatchWriter writer(corpus, rules, rows);
    std::size_t begin = 0;
    for (const plan::SampleVisit& visit : microbatch.samples) {
        const Sample& sample = samples[visit.sample];
        writer.write(begin, sample, number_of(visit, samples));
        begin += is_packed ? sample.length : microbatch.padded_length;
    }
    return writer.finish();
}

std::size_t count_targets(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                          std::span<const plan::SampleVisit> visits) {
    switch (rules.task) {
        case Task::language: {
            std::size_t count = 0;
            for (const plan::SampleVisit& visit : visits) count += samples[visit.sample].length;
            return count;
        }
        case Task::masked: {
            const Masking masking(corpus.info(), rules.mask_key, rules.mask_share);
            std::size_t count = 0;
            for (const plan::SampleVisit& visit : visits)
                count += masking.places(number_of(visit, samples), framed_tokens(samples[visit.sample])).size();
            return count;
        }
        case Task::span:
            return static_cast<std::size_t>(
                std::count_if(visits.begin(), visits.end(), [&](const plan::SampleVisit& visit) {
                    const Sample& sample = samples[visit.sample];
                    return span_rows(corpus.places(sample.row), sample.length).is_answered();
                }));
        case Task::classify:
            return visits.size();
    }
    throw BugError("unknown task");
}

}  // namespace trireme::data
