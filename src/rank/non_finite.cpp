#include "trireme/rank/non_finite.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

// The numbers by which findings are compared; the earliest finding has the lexicographically smallest numbers.
// `is_derived` is 0 if is_origin() is true, otherwise 1. `count` is the number of fields.
struct FindingField {
    enum : std::size_t { is_absent, is_derived, microbatch, is_backward, stage, count };
};

// True if the kernel is the origin of non-finite values: its inputs are finite, or its non-finite input is a
// parameter. Otherwise the non-finite input came from a message, a reduction over ranks or the data.
bool is_origin(const NonFiniteFinding& finding) {
    return !finding.kernel_output.input || !finding.parameter.empty();
}

// By these fields, a rank without a finding comes last. Origins come before findings that are no origins.
// Within each of these two classes, findings are ordered by micro-batch, then forward before backward, then in
// the order in which the pass visits the stages. Gradient reductions (with a negative micro-batch) come after
// all micro-batches.
std::array<double, FindingField::count> to_fields(const std::optional<NonFiniteFinding>& finding) {
    if (!finding) return {1};
    const kernels::KernelContext& context = finding->kernel_output.context;
    std::array<double, FindingField::count> fields{};
    fields[FindingField::is_derived] = is_origin(*finding) ? 0 : 1;
    fields[FindingField::microbatch] =
        context.microbatch < 0 ? std::numeric_limits<double>::max() : context.microbatch;
    fields[FindingField::is_backward] = context.is_backward ? 1 : 0;
    fields[FindingField::stage] = context.is_backward ? -context.stage : context.stage;
    return fields;
}

std::string describe(const kernels::KernelContext& context) {
    if (context.microbatch < 0) return context.layer;
    return cat("layer ", context.layer, ", micro-batch ", context.microbatch, ", ",
               context.is_backward ? "backward" : "forward");
}

std::string describe(const kernels::NonFiniteValue& value) {
    return cat("is ", kernels::describe_non_finite(value.value), " at [", value.row, ", ", value.column, "]");
}

std::string describe_cause(const NonFiniteFinding& finding) {
    if (!finding.kernel_output.input) return " although its inputs are finite";
    const kernels::NonFiniteValue& input = *finding.kernel_output.input;
    std::string source = "which came from another rank or from the data";
    if (!finding.parameter.empty()) source = cat("parameter ", finding.parameter);
    if (!finding.gradient.empty()) source = cat("the summed gradient of ", finding.gradient);
    return cat(" because its ", input.tensor_name, ", ", source, ", ", describe(input));
}

std::string describe(const NonFiniteFinding& finding, int rank) {
    const auto& [context, kernel, output, input] = finding.kernel_output;
    const std::string stage = context.stage < 0 ? "" : cat(" (stage ", context.stage, ")");
    return cat("rank ", rank, stage, ", ", describe(context), ": ", output.tensor_name, " of ", kernel, " ",
               describe(output), describe_cause(finding));
}

// Returns the name of the parameter whose tensor in `tensors` contains `address`; empty if there is none.
std::string find_parameter_name(const void* address, const std::vector<model::ParameterSpec>& specs,
                                const model::ParameterTensors& tensors) {
    const std::less<const void*> is_before;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const device::ConstTensor tensor = tensors[i];
        if (!is_before(address, tensor.data) && is_before(address, tensor.at(tensor.size())))
            return specs[i].name;
    }
    return {};
}

}  // namespace

NonFiniteFinding make_finding(const kernels::NonFiniteOutput& kernel_output,
                              const stage::LocalParameters& parameters) {
    NonFiniteFinding finding{.kernel_output = kernel_output};
    if (!kernel_output.input) return finding;
    finding.parameter = find_parameter_name(kernel_output.input->data, parameters.specs(), parameters.values());
    finding.gradient =
        find_parameter_name(kernel_output.input->data, parameters.specs(), parameters.gradients());
    return finding;
}

bool can_repeat_step(const plan::ProvedPrograms& training, config::OnNan on_nan) {
    if (training.are_steps_independent()) return true;
    const auto uses_old_weights = [](const schedule::Program& program) {
        return std::ranges::any_of(program, [](const schedule::Instruction& each) { return each.age > 0; });
    };
    return training.shape.has_speculative_updates && on_nan == config::OnNan::stop &&
           std::ranges::none_of(training.programs, uses_old_weights);
}

std::string describe_first_finding(comm::Communicator& control,
                                   const std::optional<NonFiniteFinding>& own_finding) {
    constexpr std::size_t width = FindingField::count;
    const std::vector<double> all_fields = all_gather(control, to_fields(own_finding));
    const std::vector<std::string> texts =
        all_gather(control, own_finding ? describe(*own_finding, control.rank()) : "");
    std::size_t first_rank = 0;
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
        const auto* const candidate = &all_fields[rank * width];
        const auto* const best = &all_fields[first_rank * width];
        if (std::lexicographical_compare(candidate, candidate + width, best, best + width)) first_rank = rank;
    }
    return texts[first_rank];
}

}  // namespace trireme::rank
