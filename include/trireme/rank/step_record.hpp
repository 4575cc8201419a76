// Fills the record of a step: the numbers that a rank sends to all ranks. See records::RecordFields.
#pragma once

#include <span>

#include "trireme/device/stream.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/rank/rank_gpu.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/rank/step_energy.hpp"

namespace trireme::rank {

class ParameterUpdates;
struct StepUpdate;

// Returns the number of blocks whose gradient norms a policy needs; 0 if it needs none.
std::size_t count_recorded_blocks(const setup::Job& job);

// Returns how many numbers a rank sends. If a policy needs them, they end with the squared gradient norms of
// blocks and the times of its passes.
std::size_t count_record_numbers(const setup::Job& job, const plan::Plan& plan);

// Returns the kernels and the waits of a step that took `seconds`.
StepPhases measure_phases(const device::Stream& stream, const RankModel& model, double seconds);

void record_update(const StepUpdate& update, const setup::Job& job, std::span<double> record);
void record_kernels(const device::Stream& stream, std::span<double> record);
void record_waits(const plan::RankWaits& waits, std::span<double> record);
// Records the passes of layers, the visits of cached samples, the gradients that the rank has sent, and the
// moments that it keeps.
void record_work(const device::Stream& stream, const RankModel& model, ParameterUpdates& updates,
                 const setup::Job& job, std::span<double> record);
void record_energy(const records::EnergyPhases& energy, std::span<double> record);
// Fills the fields about the GPU. `record` has RecordFields::count_on_gpus numbers. A field is NaN if `gpu` is
// null or the driver does not report the quantity.
void record_gpu_state(RankGpu* gpu, std::span<double> record);
// Does nothing if no policy needs these times.
void record_pass_times(const plan::MeasuredPasses& times, const setup::Job& job, std::span<double> record);

}  // namespace trireme::rank
