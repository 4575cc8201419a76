// Compares the logits of models for rows, tokens and classes with Hugging Face's, through the records in
// validation/reference.
#include <numeric>

#include "unit/stage/record_trial.hpp"

namespace trireme::stage {
namespace {

class HuggingFaceLogits : public RecordTest {
protected:
    const std::size_t outputs_ = record_.outputs();

    // Returns -log of the probability of a column among the recorded logits of a row.
    double compute_negative_log_probability(std::size_t row, std::size_t column) const {
        const auto begin = record_.logits.begin() + static_cast<std::ptrdiff_t>(row * outputs_);
        const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(outputs_), 0.0,
                                           [](double part, double logit) { return part + std::exp(logit); });
        return std::log(sum) - begin[static_cast<std::ptrdiff_t>(column)];
    }

    // Returns -log of the probability of a row of a segment in one of the two columns of recorded span logits.
    double span_surprise(const kernels::Segment& segment, std::size_t row, std::size_t column) const {
        const auto logit = [&](std::size_t r) { return record_.logits.at(2 * (segment.begin + r) + column); };
        double sum = 0;
        for (std::size_t r = 0; r < segment.length; ++r) sum += std::exp(logit(r));
        return std::log(sum) - logit(row);
    }

    void expect_near(double value, double expected) const {
        EXPECT_LE(std::abs(value - expected) / largest_magnitude(record_.logits),
                  machine_.bar(record_.float32_logits_error));
    }
};

// Returns the last hidden states, computed by every layer but the head.
std::vector<double> hidden_of(const WholeModel& stage, device::Stream& stream, const model::ModelConfig& config,
                              const TokenRows& rows) {
    const model::TokenBatch batch = rows.batch();
    device::Arena kept("kept", std::size_t{1} << 22, device::MemorySpace::host);
    device::Arena scratch("scratch", std::size_t{1} << 22, device::MemorySpace::host);
    const model::Pass pass{.stream = stream, .batch = batch, .scratch = scratch, .dtype = stage.dtype()};
    device::ConstTensor hidden;
    for (const model::Layer& layer : build_layers(config)) {
        std::vector<device::ConstTensor> weights;
        for (const model::ParameterSpec& spec : list_parameters(layer)) {
            std::size_t i = 0;
            while (stage.parameters().at(i).name != spec.name) ++i;
            weights.push_back(stage.values()[i]);
        }
        std::visit(
            [&]<class L>(const L& l) {
                typename L::State state;
                if constexpr (!model::is_head<L>) hidden = l.forward(pass, weights, hidden, state, kept);
            },
            layer);
    }
    return numbers_of(hidden);
}

// Returns one row's hidden state times the head's matrix, plus its bias if it has one.
std::vector<double> logits_of(std::span<const double> hidden, const std::vector<model::ParameterSpec>& head,
                              const NamedNumbers& weights) {
    std::vector<double> logits(head[0].rows, 0.0);
    if (head.size() > 1) logits = weights.at(head[1].name);
    for (std::size_t output = 0; output < logits.size(); ++output) {
        const double* const weight = &weights.at(head[0].name).at(output * hidden.size());
        logits[output] = std::inner_product(hidden.begin(), hidden.end(), weight, logits[output]);
    }
    return logits;
}

TEST_P(HuggingFaceLogits, AreReproduced) {
    const WholeModel stage = loaded_stage(packed_);
    device::Stream stream = machine_.stream();
    const model::TokenBatch batch = packed_.batch();
    std::vector<std::size_t> rows(batch.rows());
    std::iota(rows.begin(), rows.end(), 0U);
    if (record_.config.task != Task::span) {
        const auto predicted = batch.predicted_rows.as<std::int32_t>();
        rows.assign(predicted.data, predicted.data + predicted.columns);
    }

    const std::vector<double> hidden = hidden_of(stage, stream, record_.config, packed_);

    const std::vector<model::ParameterSpec> head = list_parameters(build_layers(record_.config).back());
    const std::size_t width = record_.config.width;
    std::vector<double> logits;
    for (const std::size_t row : rows) {
        const auto part = logits_of(std::span(hidden).subspan(row * width, width), head, record_.weights);
        logits.insert(logits.end(), part.begin(), part.end());
    }
    EXPECT_LE(largest_difference(logits, record_.logits) / largest_magnitude(record_.logits),
              machine_.bar(record_.float32_logits_error));
}

// The records with targets, and the records with answers.
class HuggingFaceTargets : public HuggingFaceLogits {};
class HuggingFaceAnswers : public HuggingFaceLogits {};

TEST_P(HuggingFaceTargets, HaveTheProbabilitiesOfTheRecordedLogits) {
    WholeModel stage = loaded_stage(packed_);
    device::Stream stream = machine_.stream();
    for (std::size_t prediction = 0; prediction < record_.terms(); ++prediction) {
        const std::size_t target = (7 * prediction + 3) % outputs_;
        SCOPED_TRACE(cat("prediction ", prediction, ", target ", target));
        TokenRows rows = packed_;
        rows.keep_prediction(prediction, static_cast<std::int32_t>(target));

        const double loss = stage.evaluate(stream, rows.batch()).loss;

        expect_near(loss, compute_negative_log_probability(prediction, target));
    }
}

TEST_P(HuggingFaceAnswers, HaveTheProbabilitiesOfTheRecordedLogits) {
    WholeModel stage = loaded_stage(padded_);
    device::Stream stream = machine_.stream();
    for (std::size_t sample = 0; sample < record_.samples.size(); ++sample) {
        const kernels::Segment segment = packed_.shape().segments[sample];
        for (std::size_t first = 0; first < segment.length; ++first) {
            const std::size_t last = segment.length - 1 - first;
            SCOPED_TRACE(cat("sample ", sample, ", rows ", first, " and ", last));
            TokenRows rows = padded_;
            rows.set_single_answer(sample, {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)});

            const double loss = stage.evaluate(stream, rows.batch()).loss;

            expect_near(loss, (span_surprise(segment, first, 0) + span_surprise(segment, last, 1)) / 2);
        }
    }
}

TEST_P(HuggingFaceLogits, GiveTheSameChoices) {
    device::Stream stream = machine_.stream();
    for (const TokenRows* rows : {&packed_, &padded_}) {
        WholeModel stage = loaded_stage(*rows);

        const model::LossState result = stage.evaluate(stream, rows->batch());

        EXPECT_EQ(result.choices, record_.choices) << (rows == &packed_ ? "packed" : "padded");
    }
}

std::string trial_name(const testing::TestParamInfo<RecordTrial>& info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(Records, HuggingFaceLogits, testing::ValuesIn(make_trials(record_names())),
                         trial_name);
INSTANTIATE_TEST_SUITE_P(Records, HuggingFaceTargets, testing::ValuesIn(make_trials(target_record_names())),
                         trial_name);
INSTANTIATE_TEST_SUITE_P(Records, HuggingFaceAnswers, testing::ValuesIn(make_trials(answer_record_names())),
                         trial_name);

}  // namespace
}  // namespace trireme::stage
