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

// Maps a byte to [-1, 1].
float scale_pixel(std::uint8_t byte) { return static_cast<float>(byte) / 127.5F - 1.0F; }

// Appends one patch: for each channel, the square of `patch` x `patch` pixels whose first pixel is (top, left).
void append_patch(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                  std::size_t top, std::size_t left, std::vector<float>& rows) {
    for (std::size_t channel = 0; channel < image.channels; ++channel)
        for (std::size_t y = top; y < top + patch; ++y) {
            const std::size_t begin = (channel * image.height + y) * image.width + left;
            for (const std::uint8_t byte : pixels.subspan(begin, patch)) rows.push_back(scale_pixel(byte));
        }
}

// Returns the number of patches of an image. Throws BugError if patches of this size do not cover the image
// exactly.
std::size_t count_patches(const ImageSize& image, std::size_t patch) {
    if (patch == 0 || image.height % patch != 0 || image.width % patch != 0)
        throw BugError(cat("patches of ", patch, " x ", patch, " pixels do not cover images of ", image.height,
                           " x ", image.width, " pixels exactly"));
    return (image.height / patch) * (image.width / patch);
}

// Converts `pixels` (channels, height, width) and appends them to `rows` (patches, channels * patch * patch).
// Patches are in row-major order of the image; a patch has the axes (channel, row, column).
void append_patches(std::span<const std::uint8_t> pixels, const ImageSize& image, std::size_t patch,
                    std::vector<float>& rows) {
    for (std::size_t top = 0; top < image.height; top += patch)
        for (std::size_t left = 0; left < image.width; left += patch)
            append_patch(pixels, image, patch, top, left, rows);
}

constexpr std::int32_t no_target = -1;

// Returns the number of the visit, which is unique per (epoch, sample): see TokenSpan::visit.
std::int64_t compute_visit_number(const plan::SampleVisit& visit, std::span<const Sample> samples) {
    return static_cast<std::int64_t>(visit.epoch * samples.size() + visit.sample);
}

// Returns the number of tokens between [CLS] and [SEP], which frame the text of a sample.
std::size_t count_framed_tokens(const Sample& sample) { return sample.length - 2; }

// Writes samples into the rows of a batch. The writing functions count positions from the first row of the
// current sample.
class BatchWriter {
public:
    BatchWriter(const Corpus& corpus, const BatchRules& rules, std::size_t rows)
        : corpus_(corpus), rules_(rules) {
        if (rules.task == Task::masked) masking_.emplace(corpus.info(), rules.mask_key, rules.mask_fraction);
        batch_.tokens.assign(rows, 0);
        batch_.targets.assign(rows, no_target);
        batch_.positions.assign(rows, 0);
        batch_.types.assign(rows, 0);
        batch_.visits.assign(rows, 0);
    }

    // Writes a sample to rows [begin, begin + sample.length).
    void write(std::size_t begin, const Sample& sample, std::int64_t visit) {
        sample_begin_ = begin;
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
            if (batch_.targets[row] != no_target)
                batch_.predicted_rows.push_back(static_cast<std::int32_t>(row));
        batch_.target_count = answered_count_ + batch_.predicted_rows.size();
        return std::move(batch_);
    }

private:
    void write_language(const Sample& sample) {
        const std::uint64_t length = corpus_.row_length(sample.row);
        const bool ends_row = std::uint64_t{sample.begin} + sample.length == length;
        corpus_.read(sample.row, sample.begin, sample.length + (ends_row ? 0 : 1), row_tokens_);
        // A sample ends its row only under SampleRules::append_end_token, which requires an end-of-text token.
        if (ends_row) row_tokens_.push_back(corpus_.info().special_tokens.end_of_text.value());
        for (std::size_t i = 0; i < sample.length; ++i) {
            set_token(i, row_tokens_[i]);
            set_target(i, row_tokens_[i + 1]);
        }
    }

    void write_masked(const Sample& sample, std::int64_t visit) {
        write_framed(sample);
        for (const std::size_t position : masking_->select_positions(visit, count_framed_tokens(sample))) {
            const std::uint32_t token = row_tokens_[position - 1];  // position 0 is [CLS]
            set_token(position, masking_->choose_replacement(visit, position, token));
            set_target(position, token);
        }
    }

    void write_framed(const Sample& sample) {
        const SpecialTokens& special = corpus_.info().special_tokens;
        corpus_.read(sample.row, sample.begin, count_framed_tokens(sample), row_tokens_);
        set_token(0, special.classify.value());
        for (std::size_t i = 0; i < row_tokens_.size(); ++i) set_token(1 + i, row_tokens_[i]);
        set_token(1 + row_tokens_.size(), special.separator.value());
    }

    // Writes the question and the context of a sample. SpanRows describes their rows.
    void write_span(const Sample& sample) {
        const SpecialTokens& special = corpus_.info().special_tokens;
        const Question question = corpus_.find_question_positions(sample.row);
        const SpanRows rows = find_span_rows(question, sample.length);
        corpus_.read(sample.row, 0, sample.length - span_special_count, row_tokens_);
        set_token(0, special.classify.value());
        for (std::size_t i = 0; i < row_tokens_.size(); ++i)
            set_token(i + (i < question.context_begin ? 1 : 2), row_tokens_[i]);
        set_token(question.context_begin + std::size_t{1}, special.separator.value());
        set_token(sample.length - std::size_t{1}, special.separator.value());
        std::fill_n(batch_.types.begin() + static_cast<std::ptrdiff_t>(sample_begin_) + rows.context_begin,
                    static_cast<std::ptrdiff_t>(sample.length) - rows.context_begin, 1);
        batch_.contexts.insert(batch_.contexts.end(), {rows.context_begin, rows.context_end});
        batch_.answers.insert(batch_.answers.end(), {rows.answer_first, rows.answer_last});
        if (rows.is_answered()) ++answered_count_;
    }

    void write_classify(const Sample& sample) {
        if (corpus_.info().kind == RowKind::image) {
            write_image(sample);
        } else {
            write_framed(sample);
        }
        const std::uint32_t label = corpus_.label(sample.row);
        set_target(0, rules_.model_labels.empty() ? label : rules_.model_labels.at(label));
    }

    void write_image(const Sample& sample) {
        const ImageSize& image = corpus_.info().image;
        if (sample.length != 1 + count_patches(image, rules_.patch))
            throw BugError(cat("a sample of an image has ", sample.length, " rows, but the image has ",
                               count_patches(image, rules_.patch), " patches and a class token"));
        corpus_.read_image(sample.row, pixels_);
        append_patches(pixels_, image, rules_.patch, batch_.pixels);
    }

    void set_token(std::size_t position, std::uint32_t token) {
        batch_.tokens[sample_begin_ + position] = static_cast<std::int32_t>(token);
    }
    void set_target(std::size_t position, std::uint32_t target) {
        batch_.targets[sample_begin_ + position] = static_cast<std::int32_t>(target);
    }

    const Corpus& corpus_;
    const BatchRules& rules_;
    std::optional<Masking> masking_;
    std::size_t sample_begin_ = 0;           // first row of the current sample
    std::size_t answered_count_ = 0;         // answered questions
    std::vector<std::uint32_t> row_tokens_;  // tokens that the current sample reads from its row of the corpus
    std::vector<std::uint8_t> pixels_;
    Batch batch_;
};

std::size_t count_packed_rows(const std::vector<plan::SampleVisit>& visits, std::span<const Sample> samples) {
    std::size_t rows = 0;
    for (const plan::SampleVisit& visit : visits) rows += samples[visit.sample].length;
    return rows;
}

std::size_t find_longest(const std::vector<plan::SampleVisit>& visits, std::span<const Sample> samples) {
    std::size_t longest = 0;
    for (const plan::SampleVisit& visit : visits)
        longest = std::max<std::size_t>(longest, samples[visit.sample].length);
    return longest;
}

}  // namespace

std::size_t find_common_length(const std::vector<plan::SampleVisit>& step_visits,
                               std::span<const Sample> samples, plan::LengthPolicy policy,
                               std::size_t longest_of_corpus) {
    switch (policy) {
        case plan::LengthPolicy::fixed:
            return longest_of_corpus;
        case plan::LengthPolicy::step:
            return find_longest(step_visits, samples);
        case plan::LengthPolicy::pad:
        case plan::LengthPolicy::pack:
        case plan::LengthPolicy::dynapipe:
        case plan::LengthPolicy::balanced:
            break;
    }
    return 0;
}

plan::Microbatch make_microbatch(std::vector<plan::SampleVisit> visits, std::span<const Sample> samples,
                                 plan::LengthPolicy policy, std::size_t common_length) {
    const bool has_common_length = policy == plan::LengthPolicy::fixed || policy == plan::LengthPolicy::step;
    const std::size_t length = has_common_length ? common_length : find_longest(visits, samples);
    return {.samples = std::move(visits), .padded_length = is_packed(policy) ? 0 : length};
}

Batch build_batch(const Corpus& corpus, std::span<const Sample> samples, const BatchRules& rules,
                  const plan::Microbatch& microbatch) {
    const bool is_packed = microbatch.padded_length == 0;
    const std::size_t rows = is_packed ? count_packed_rows(microbatch.samples, samples)
                                       : microbatch.samples.size() * microbatch.padded_length;
    BatchWriter writer(corpus, rules, rows);
    std::size_t begin = 0;
    for (const plan::SampleVisit& visit : microbatch.samples) {
        const Sample& sample = samples[visit.sample];
        writer.write(begin, sample, compute_visit_number(visit, samples));
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
            const Masking masking(corpus.info(), rules.mask_key, rules.mask_fraction);
            std::size_t count = 0;
            for (const plan::SampleVisit& visit : visits)
                count += masking
                             .select_positions(compute_visit_number(visit, samples),
                                               count_framed_tokens(samples[visit.sample]))
                             .size();
            return count;
        }
        case Task::span:
            return static_cast<std::size_t>(
                std::count_if(visits.begin(), visits.end(), [&](const plan::SampleVisit& visit) {
                    const Sample& sample = samples[visit.sample];
                    return find_span_rows(corpus.find_question_positions(sample.row), sample.length)
                        .is_answered();
                }));
        case Task::classify:
            return visits.size();
    }
    throw BugError("unknown task");
}

}  // namespace trireme::data
