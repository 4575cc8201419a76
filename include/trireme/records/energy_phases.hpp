// The energy of a device, divided by what its rank did.
#pragma once

#include <optional>
#include <vector>

namespace trireme::records {

// Joules.
struct EnergyPhases {
    double compute = 0;  // while kernels ran
    double blocked = 0;  // while the rank waited for other ranks in a step
    double idle = 0;     // in the rest of the step

    double sum() const { return compute + blocked + idle; }
    EnergyPhases& operator+=(const EnergyPhases& more) {
        compute += more.compute;
        blocked += more.blocked;
        idle += more.idle;
        return *this;
    }
    friend bool operator==(const EnergyPhases&, const EnergyPhases&) = default;
};

// Returns the sum over the ranks; empty without entries.
std::optional<EnergyPhases> sum_energy(const std::vector<EnergyPhases>& energy_of_ranks);

// The parts of the energy: see EnergyPhases. Joules is a number, or a list with one entry per rank.
template <class Joules>
struct EnergyParts {
    Joules compute = {}, blocked = {}, idle = {};
    bool is_derived = false;  // true on GPUs: see rank::StepEnergy
};

}  // namespace trireme::records
