#include "unit/stage/record_trial.hpp"

#include <algorithm>

namespace trireme::stage {
namespace {

constexpr double f64_bar = 1e-10;
constexpr double min_f32_bar = 1e-5;

}  // namespace

device::Stream Machine::stream() const {
    return is_reference ? device::Stream{.backend = device::ReferenceStream{}}
                        : device::Stream{.backend = device::CpuStream{}};
}

double Machine::bar(double pytorch_f32_error) const {
    return dtype == device::DType::f64 ? f64_bar : std::max(2 * pytorch_f32_error, min_f32_bar);
}

std::string RecordTrial::name() const { return cat(machine.name, "_", record); }

std::vector<RecordTrial> make_trials(const std::vector<std::string>& records) {
    std::vector<RecordTrial> trials;
    for (const Machine& machine :
         {Machine{"reference_f64", true, device::DType::f64},
          Machine{"reference_f32", true, device::DType::f32}, Machine{"cpu_f64", false, device::DType::f64},
          Machine{"cpu_f32", false, device::DType::f32}}) {
        for (const std::string& record : records) trials.push_back({machine, record});
    }
    return trials;
}

void load_weights(const WholeModel& stage, const NamedNumbers& weights) {
    for (std::size_t i = 0; i < stage.parameters().size(); ++i) {
        const model::ParameterSpec& spec = stage.parameters()[i];
        ASSERT_TRUE(weights.contains(spec.name)) << spec.name;
        const std::vector<double>& numbers = weights.at(spec.name);
        ASSERT_EQ(numbers.size(), spec.size()) << spec.name;
        set_numbers(stage.values()[i], numbers);
    }
}

double largest_magnitude(std::span<const double> numbers) {
    double largest = 0;
    for (const double number : numbers) largest = std::max(largest, std::abs(number));
    return largest;
}

double PassErrors::worst_ratio(const Machine& machine, const RecordedPass& pass) const {
    double worst = loss / machine.bar(pass.float32_loss_error);
    for (const auto& [name, error] : gradients) {
        worst = std::max(worst, error / machine.bar(pass.float32_gradient_errors.at(name).at(0)));
    }
    return worst;
}

WholeModel RecordTest::loaded_stage(const TokenRows& rows, BackwardHalves halves) const {
    WholeModel stage = make_stage(record_.config, machine_.dtype, rows.shape(), halves);
    load_weights(stage, record_.weights);
    return stage;
}

PassErrors RecordTest::pass_errors(const RecordedPass& pass, const NamedNumbers& weights, const TokenRows& rows,
                                   BackwardHalves halves) const {
    WholeModel stage = make_stage(record_.config, machine_.dtype, rows.shape(), halves);
    load_weights(stage, weights);
    device::Stream stream = machine_.stream();
    const auto count = static_cast<double>(record_.terms());
    const PassOptions options{.loss_scale = 1 / count, .label_smoothing = pass.label_smoothing};
    const double loss = stage.forward_backward(stream, rows.batch(), options, halves) / count;

    PassErrors errors{.loss = error_of({&loss, 1}, {&pass.loss, 1}), .gradients = {}};
    for (const auto& [name, gradient] : read_gradients(stage)) {
        errors.gradients[name] =
            error_of(gradient, pass.gradients.at(name), gradient_floor(pass.gradients, name));
    }
    return errors;
}

void RecordTest::expect_within_bars(const RecordedPass& pass) const {
    for (const TokenRows* rows : {&packed_, &padded_}) {
        for (const BackwardHalves halves : {BackwardHalves::together, BackwardHalves::apart}) {
            SCOPED_TRACE(cat(rows == &packed_ ? "packed" : "padded", ", ",
                             halves == BackwardHalves::together ? "halves together" : "halves apart"));
            const PassErrors errors = pass_errors(pass, record_.weights, *rows, halves);

            EXPECT_LE(errors.loss, machine_.bar(pass.float32_loss_error));
            EXPECT_EQ(errors.gradients.size(), pass.gradients.size());
            for (const auto& [name, error] : errors.gradients) {
                EXPECT_LE(error, machine_.bar(pass.float32_gradient_errors.at(name).at(0))) << name;
            }
        }
    }
}

}  // namespace trireme::stage
