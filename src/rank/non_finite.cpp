#include "trireme/rank/non_finite.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

// Numbers that ranks gather to choose the finding that is described, in the order of comparison.
struct FindingFields {
    enum : std::size_t { is_none, is_derived, microbatch, is_backward, stage, count };
};

// A kernel is an origin if its inputs are finite, or if its non-finite input is a parameter. In all other
// findings the input came from a message, a reduction over ranks or the data.
bool is_origin(const NonFiniteFinding& finding) { return !finding.what.input || !finding.parameter.empty(); }

// Orders findings as a micro-batch passes the stages. Gradient reductions come after all micro-batches.
std::array<double, FindingFields::count> fields_of(const std::optional<NonFiniteFinding>& finding) {
    if (!finding) return {1};
    const kernels::KernelPlace& place = finding->what.place;
    std::array<double, FindingFields::count> fields{};
    fields[FindingFields::is_derived] = is_origin(*finding) ? 0 : 1;
    fields[FindingFields::microbatch] =
        place.microbatch < 0 ? std::numeric_limits<double>::max() : place.microbatch;
    fields[FindingFields::is_backward] = place.is_backward ? 1 : 0;
    fields[FindingFields::stage] = place.is_backward ? -place.stage : place.stage;
    return fields;
}

std::string describe(const kernels::KernelPlace& place) {
    if (place.microbatch < 0) return place.layer;
    return cat("layer ", place.layer, ", micro-batch ", place.microbatch, ", ",
               place.is_backward ? "backward" : "forward");
}

std::string describe(const kernels::NonFiniteValue& value) {
    return cat("is ", kernels::describe_non_finite(value.value), " at [", value.row, ", ", value.column, "]");
}

std::string describe_cause(const NonFiniteFinding& finding) {
    if (!finding.what.input) return " although its inputs are finite";
    const kernels::NonFiniteValue& input = *finding.what.input;
    std::string source = "which another rank or the data brought";
    if (!finding.parameter.empty()) source = cat("parameter ", finding.parameter);
    if (!finding.gradient.empty()) source = cat("the summed gradient of ", finding.gradient);
    return cat(" because its ", input.tensor, ", ", source, ", ", describe(input));
}

std::string describe(const NonFiniteFinding& finding, int rank) {
    const auto& [place, kernel, output, input] = finding.what;
    const std::string stage = place.stage < 0 ? "" : cat(" (stage ", place.stage, ")");
    return cat("rank ", rank, stage, ", ", describe(place), ": ", output.tensor, " of ", kernel, " ",
               describe(output), describe_cause(finding));
}

// Returns the name of the tensor that contains an address; empty if none does.
std::string find_name(const void* address, const std::vector<model::ParameterSpec>& specs,
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

NonFiniteFinding name_input(const kernels::NonFiniteOutput& what, const stage::LocalParameters& held) {
    NonFiniteFinding finding{.what = what};
    if (!what.input) return finding;
    finding.parameter = find_name(what.input->data, held.specs(), held.values());
    finding.gradient = find_name(what.input->data, held.specs(), held.gradients());
    return finding;
}

bool can_repeat_step(const plan::ProvedPrograms& training, config::OnNan on_nan) {
    if (training.ends_with_step()) return true;
    const auto uses_old_weights = [](const schedule::Program& program) {
        return std::ranges::any_of(program, [](const schedule::Instruction& each) { return each.age > 0; });
    };
    return training.shape.validates && on_nan == config::OnNan::stop &&
           std::ranges::none_of(training.programs, uses_old_weights);
}

std::string describe_first(comm::Communicator& control, const std::optional<NonFiniteFinding>& own) {
    constexpr std::size_t width = FindingFields::count;
    const std::vector<double> all = gather_all(control, fields_of(own));
    const std::vector<std::string> texts = gather_all(control, own ? describe(*own, control.rank()) : "");
    std::size_t first = 0;
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
        const auto* const its = &all[rank * width];
        const auto* const best = &all[first * width];
        if (std::lexicographical_compare(its, its + width, best, best + width)) first = rank;
    }
    return texts[first];
}

}  // namespace trireme::rank
