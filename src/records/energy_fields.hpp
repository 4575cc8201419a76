// The fields of EnergyParts, in the form of record_fields.hpp.
#pragma once

namespace trireme::records {

void visit_phases(auto& visit, auto& energy_parts) {
    visit("energy_phases_j/compute", energy_parts.compute);
    visit("energy_phases_j/blocked", energy_parts.blocked);
    visit("energy_phases_j/idle", energy_parts.idle);
    visit("energy_phases_j/derived", energy_parts.is_derived);
}

}  // namespace trireme::records
