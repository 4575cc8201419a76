// GPT-2 against an independent implementation, Hugging Face's, through the records in validation/reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/optim/optimizer.hpp"
#include "unit/stage/gpt2_record.hpp"
#include "unit/stage/stage_numbers.hpp"

namespace trireme {
namespace {

constexpr double f64_bar = 1e-10;
constexpr double least_f32_bar = 1e-5;
constexpr RandomKey no_dropout{};

struct Machine {
    const char* name;
    bool is_reference;
    DType dtype;

    Stream stream() const {
        return is_reference ? Stream{.backend = ReferenceStream{}} : Stream{.backend = CpuStream{}};
    }
    // In f32 a difference may be twice PyTorch's own.
    double bar(double pytorch_f32_error) const {
        return dtype == DType::f64 ? f64_bar : std::max(2 * pytorch_f32_error, least_f32_bar);
    }
};

void load_weights(const Stage& stage, const NamedNumbers& weights) {
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        const std::vector<double>& numbers = weights.at(stage.parameters()[i].name);
        ASSERT_EQ(numbers.size(), stage.parameters()[i].size()) << stage.parameters()[i].name;
        set_numbers(stage.values()[i], numbers);
    }
}

double gradient_floor(const Gpt2Record& record) {
    double sum = 0;
    for (const auto& [name, gradient] : record.gradients) sum += norm_of(gradient) * norm_of(gradient);
    return 1e-3 * std::sqrt(sum);
}

// What one forward and backward pass with `weights` is off the record by.
struct PassErrors {
    double loss = 0;
    std::map<std::string, double> gradients;  // one for each tensor of the record

    // The worst of all, as a multiple of what is allowed.
    double over_bar(const Machine& machine, const Float32Errors& own) const {
        double worst = loss / machine.bar(own.loss);
        for (const auto& [name, error] : gradients) {
            worst = std::max(worst, error / machine.bar(own.gradients.at(name)));
        }
        return worst;
    }
};

PassErrors pass_errors(const Machine& machine, const Gpt2Record& record, const NamedNumbers& weights,
                       const TokenRows& rows, BackwardHalves halves) {
    Stage stage = make_stage(record.config, machine.dtype, rows.shape(), halves);
    Stream stream = machine.stream();
    load_weights(stage, weights);
    const auto count = static_cast<double>(record.predictions());
    const double loss = stage.forward_backward(stream, rows.batch(), no_dropout, 1 / count, halves) / count;

    PassErrors errors{.loss = error_of({&loss, 1}, {&record.loss, 1}), .gradients = {}};
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        const std::string& name = stage.parameters()[i].name;
        errors.gradients[name] =
            error_of(numbers_of(stage.gradients()[i]), record.gradients.at(name), gradient_floor(record));
    }
    return errors;
}

// The final hidden states through every layer but the head, times the head's matrix.
std::vector<double> logits_of(const Stage& stage, Stream& stream, const ModelConfig& config,
                              const TokenRows& rows) {
    const TokenBatch batch = rows.batch();
    const Pass pass{.stream = stream, .batch = batch, .dtype = stage.dtype()};
    Arena arena("test", std::size_t{1} << 22, Place::memory);
    const auto value_named = [&](const std::string& name) -> ConstTensor {
        std::size_t i = 0;
        while (stage.parameters().at(i).name != name) ++i;
        return stage.values()[i];
    };
    ConstTensor hidden;
    for (const Layer& layer : build_layers(config)) {
        std::vector<ConstTensor> weights;
        for (const ParameterSpec& spec : parameters_of(layer)) weights.push_back(value_named(spec.name));
        std::visit(
            [&]<class L>(const L& l) {
                typename L::State state;
                if constexpr (!std::is_same_v<L, Head>) hidden = l.forward(pass, weights, hidden, state, arena);
            },
            layer);
    }
    const ConstTensor head = value_named(config.tied ? "transformer.wte.weight" : "lm_head.weight");
    const Tensor logits = arena.tensor(stage.dtype(), batch.rows(), config.vocabulary);
    launch(stream,
           Linear{.input = hidden, .weight = head, .bias = {}, .output = logits, .axes = WeightAxes::out_in});
    return numbers_of(logits);
}

double largest_magnitude(std::span<const double> numbers) {
    double largest = 0;
    for (const double number : numbers) largest = std::max(largest, std::abs(number));
    return largest;
}

// -log of the probability of `token` at a row of the recorded logits.
double recorded_surprise(const Gpt2Record& record, std::size_t row, std::size_t token) {
    const auto begin = record.logits.begin() + static_cast<std::ptrdiff_t>(row * record.config.vocabulary);
    double sum = 0;
    for (std::size_t v = 0; v < record.config.vocabulary; ++v) {
        sum += std::exp(begin[static_cast<std::ptrdiff_t>(v)]);
    }
    return std::log(sum) - begin[static_cast<std::ptrdiff_t>(token)];
}

struct Trial {
    Machine machine;
    std::string record;

    std::string name() const { return cat(machine.name, "_", record); }
    friend void PrintTo(const Trial& trial, std::ostream* out) { *out << trial.name(); }
};

std::vector<Trial> every_trial() {
    std::vector<Trial> trials;
    for (const Machine& machine :
         {Machine{"reference_f64", true, DType::f64}, Machine{"reference_f32", true, DType::f32},
          Machine{"cpu_f64", false, DType::f64}, Machine{"cpu_f32", false, DType::f32}}) {
        for (const char* record : {"gpt2_tied", "gpt2_untied"}) trials.push_back({machine, record});
    }
    return trials;
}

class HuggingFace : public testing::TestWithParam<Trial> {
protected:
    const Machine machine_ = GetParam().machine;
    const Gpt2Record record_ = read_gpt2_record(GetParam().record);
    const TokenRows packed_{record_.samples};
    const TokenRows padded_{record_.samples, record_.config.positions};

    void expect_within_bars(const PassErrors& errors) {
        EXPECT_LE(errors.loss, machine_.bar(record_.float32_errors.loss));
        EXPECT_EQ(errors.gradients.size(), record_.gradients.size());
        for (const auto& [name, error] : errors.gradients) {
            EXPECT_LE(error, machine_.bar(record_.float32_errors.gradients.at(name))) << name;
        }
    }
};

TEST_P(HuggingFace, AgreesOnTheLossAndEveryGradient) {
    for (const TokenRows* rows : {&packed_, &padded_}) {
        for (const BackwardHalves halves : {BackwardHalves::together, BackwardHalves::apart}) {
            SCOPED_TRACE(cat(rows == &packed_ ? "packed" : "padded", ", ",
                             halves == BackwardHalves::together ? "halves together" : "halves apart"));

            const PassErrors errors = pass_errors(machine_, record_, record_.weights, *rows, halves);

            expect_within_bars(errors);
        }
    }
}

TEST_P(HuggingFace, AgreesOnTheLogits) {
    Stage stage = make_stage(record_.config, machine_.dtype, packed_.shape());
    Stream stream = machine_.stream();
    load_weights(stage, record_.weights);

    const std::vector<double> logits = logits_of(stage, stream, record_.config, packed_);

    const double error = largest_difference(logits, record_.logits) / largest_magnitude(record_.logits);
    EXPECT_LE(error, machine_.bar(record_.float32_errors.logits));
}

TEST_P(HuggingFace, AgreesOnProbabilitiesOfOtherTokensThanTheTargets) {
    Stage stage = make_stage(record_.config, machine_.dtype, packed_.shape());
    Stream stream = machine_.stream();
    load_weights(stage, record_.weights);
    for (std::size_t row = 0; row < record_.predictions(); ++row) {
        const std::size_t token = (7 * row + 3) % record_.config.vocabulary;
        TokenRows rows = packed_;
        rows.predict_only(row, static_cast<std::int32_t>(token));

        const double surprise = stage.evaluate(stream, rows.batch());

        const double expected = recorded_surprise(record_, row, token);
        EXPECT_LE(std::abs(surprise - expected) / largest_magnitude(record_.logits),
                  machine_.bar(record_.float32_errors.logits))
            << "row " << row << ", token " << token;
    }
}

TEST_P(HuggingFace, AgreesOnTenStepsOfAdamW) {
    Stage stage = make_stage(record_.config, machine_.dtype, padded_.shape());
    Stream stream = machine_.stream();
    load_weights(stage, record_.weights);
    Optimizer optimizer(record_.optimizer, stage.parameters(), machine_.dtype, Place::memory);
    const auto count = static_cast<double>(record_.predictions());
    std::vector<double> losses;
    std::vector<double> norms;

    for (std::size_t step = 0; step < record_.norms.size(); ++step) {
        launch(stream, Fill{.output = stage.gradients().all(), .value = 0});
        losses.push_back(stage.forward_backward(stream, padded_.batch(), no_dropout, 1 / count) / count);
        norms.push_back(optimizer.gradient_norm(stream, stage.gradients()));
        optimizer.update(stream, stage.values(), stage.gradients(),
                         learning_rate(record_.optimizer, step, record_.norms.size()),
                         clip_scale(norms.back(), record_.optimizer.clip));
    }
    losses.push_back(stage.evaluate(stream, padded_.batch()) / count);

    ASSERT_EQ(losses.size(), record_.losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_LE(error_of({&losses[i], 1}, {&record_.losses[i], 1}),
                  machine_.bar(record_.float32_errors.losses))
            << "loss after " << i << " updates";
    }
    for (std::size_t i = 0; i < norms.size(); ++i) {
        EXPECT_LE(error_of({&norms[i], 1}, {&record_.norms[i], 1}), machine_.bar(record_.float32_errors.norms))
            << "gradient norm at update " << i + 1;
    }
}

TEST_P(HuggingFace, NoticesOneChangedWeightOfAnyTensor) {
    // A thousandth of one weight moves some models by less than the bar of f32.
    const double factor = machine_.dtype == DType::f64 ? 1.001 : 1.1;
    const auto used_token = static_cast<std::size_t>(record_.samples.front().tokens.front());
    for (const auto& [name, numbers] : record_.weights) {
        // Rows of the token table that the samples do not name have no part in the loss of an untied model.
        const std::size_t element = name == "transformer.wte.weight" ? used_token * record_.config.width : 0;
        NamedNumbers changed = record_.weights;
        changed[name][element] *= factor;

        const PassErrors errors = pass_errors(machine_, record_, changed, packed_, BackwardHalves::together);

        EXPECT_GT(errors.over_bar(machine_, record_.float32_errors), 1) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Records, HuggingFace, testing::ValuesIn(every_trial()),
                         [](const auto& trial) { return trial.param.name(); });

TEST(ParameterCount, IsThatOfGpt2) {
    ModelConfig config = model_named("gpt2");
    config.tied = true;
    const std::size_t tied = parameter_count(config);
    config.tied = false;
    const std::size_t untied = parameter_count(config);

    EXPECT_EQ(tied, 124'439'808U);
    EXPECT_EQ(untied, 163'037'184U);
}

}  // namespace
}  // namespace trireme
