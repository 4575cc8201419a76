#include "trireme/stage/ghost_passes.hpp"

#include "trireme/comm/communicator.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/clocked_device.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {
namespace {

// Returns a ghost tensor (own rows, width). Neighbouring stages exchange tensors of this shape.
device::Tensor make_boundary_rows(const GhostPass& ghost) {
    return ghost.stash.arena.tensor(ghost.pass.dtype, find_own_rows(ghost.pass).count, ghost.stage.width());
}

}  // namespace

PassTime PassTime::operator/(double count) const {
    return {.matmuls = matmuls / count,
            .other_kernels = other_kernels / count,
            .clock_delay = clock_delay / count,
            .waits = waits / count};
}

PassKey GhostPasses::make_key(const GhostPass& ghost) const {
    const model::Pass& pass = ghost.pass;
    PassKey key{.op = ghost.instruction.op,
                .stage = ghost.instruction.stage,
                .is_training = pass.is_training,
                .rows = pass.batch.rows(),
                .predicted_rows = pass.batch.predicted_rows.columns,
                .samples = pass.batch.segments.size(),
                .levels = ghost.stash.levels,
                .clock = pass.stream.clock};
    if (pass.group != nullptr) key.team_position = pass.group->communicator.rank();
    if (pass.is_training && resizing_ != nullptr) key.period = resizing_->period();
    for (const kernels::Segment& segment : pass.batch.segments) {
        key.length_sum += segment.length;
        key.square_length_sum += segment.length * segment.length;
    }
    return key;
}

// Returns null if no time is known for this kind of pass. Also returns null during a rehearsal, which executes
// every pass kernel by kernel.
const PassTime* GhostPasses::find_time(const PassKey& key) const {
    if (is_rehearsing_) return nullptr;
    const auto found = own_times_.find(key);
    if (found != own_times_.end()) return &found->second;
    if (!shared_times_) return nullptr;
    const auto rehearsed = shared_times_->find(key);
    return rehearsed == shared_times_->end() ? nullptr : &rehearsed->second;
}

// Advances the simulated time by `time`, and adds the kernels of the pass to the ledger. The device is busy
// during the kernels, and idle during the waits for other tensor-parallel ranks.
void GhostPasses::charge(const GhostPass& ghost, const PassTime& time) {
    const double kernel_seconds = time.matmuls.seconds + time.other_kernels;
    const device::ClockedDevice* const meter = ghost.pass.stream.meter.get();
    const double joules_before = device::read_joules(meter);
    device::busy_for(kernel_seconds);
    const double joules_after_kernels = device::read_joules(meter);
    ghost.pass.stream.ledger.add({.kernel = "pass"}, kernel_seconds, time.clock_delay,
                                 joules_after_kernels - joules_before);
    ghost.pass.stream.matmuls += time.matmuls;
    if (time.waits > 0) device::idle_for(time.waits);
    waits_.wait_seconds += time.waits;
    waits_.wait_joules += device::read_joules(meter) - joules_after_kernels;
    ghost.events.after_layer();
}

// Charges a backward pass in equal fractions, one per trained layer from last to first. Reports the gradients
// of a layer after its fraction.
void GhostPasses::charge_layers(const GhostPass& ghost, const PassTime& time) {
    const auto& layers = ghost.stage.trained_parameters();
    const PassTime layer_time = time / static_cast<double>(layers.size());
    for (std::size_t l = layers.size(); l-- > 0;) {
        charge(ghost, layer_time);
        ghost.events.after_layer_gradients(layers[l]);
    }
}

// Calls execute(), which executes the pass kernel by kernel. Stores the time of the pass in the shared times
// during a rehearsal, otherwise in the times of this rank.
template <class Execute>
void GhostPasses::measure_pass(const PassKey& key, const model::Pass& pass, Execute&& execute) {
    const double begin_seconds = device::now_seconds();
    const double kernel_seconds_before = pass.stream.ledger.seconds();
    const double clock_delay_before = pass.stream.ledger.clock_delay();
    const device::MatmulWork matmuls_before = pass.stream.matmuls;
    execute();
    const double kernel_seconds = pass.stream.ledger.seconds() - kernel_seconds_before;
    const device::MatmulWork matmuls = pass.stream.matmuls - matmuls_before;
    const PassTime time{.matmuls = matmuls,
                        .other_kernels = kernel_seconds - matmuls.seconds,
                        .clock_delay = pass.stream.ledger.clock_delay() - clock_delay_before,
                        .waits = std::max(0.0, device::now_seconds() - begin_seconds - kernel_seconds)};
    (is_rehearsing_ ? *shared_times_ : own_times_).insert({key, time});
}

// Prepares the stash for a backward pass that is executed kernel by kernel. If earlier passes of the
// micro-batch were charged as a whole, the stash lacks their state. This function then executes these passes,
// in zero time and without messages.
void GhostPasses::restore_stash(const GhostPass& ghost) {
    const auto& [instruction, stage, pass, stash, events, completes_gradients] = ghost;
    const bool is_weight_half = instruction.op == schedule::Op::backward_weight;
    const bool has_state = is_weight_half ? !stash.grad_outputs.empty() : !stash.states.empty();
    if (has_state) return;
    stash.clear();
    device::Stream uncharged_stream{.backend = device::GhostStream{}};
    std::unique_ptr<comm::Communicator> ghost_communicator;
    std::optional<model::TensorGroup> uncharged_group;
    if (pass.group != nullptr) {
        const comm::Communicator& team = pass.group->communicator;
        ghost_communicator = comm::make_ghost_group(team.name(), team.rank(), team.size());
        uncharged_group.emplace(
            model::TensorGroup{*ghost_communicator, pass.group->exchange, pass.group->cuts_rows});
    }
    const model::Pass uncharged_pass{.stream = uncharged_stream,
                                     .batch = pass.batch,
                                     .scratch = pass.scratch,
                                     .dtype = pass.dtype,
                                     .is_training = pass.is_training,
                                     .group = uncharged_group ? &*uncharged_group : nullptr};
    // The ends of the model have no neighbouring stage, hence no boundary tensor.
    const auto make_boundary_tensor = [&](bool is_model_end) {
        return is_model_end ? device::Tensor{} : make_boundary_rows(ghost);
    };
    stage.forward(uncharged_pass, make_boundary_tensor(stage.is_first()), stash, workspace_);
    if (is_weight_half)
        stage.backward_input(uncharged_pass, make_boundary_tensor(stage.is_last()),
                             make_boundary_tensor(stage.is_first_trained()), stash);
}

device::Tensor GhostPasses::forward(const GhostPass& ghost, device::ConstTensor input) {
    const PassKey key = make_key(ghost);
    if (const PassTime* const time = find_time(key)) {
        charge(ghost, *time);
        ghost.pass.stream.layer_passes.forward += static_cast<double>(ghost.stage.count_layers());
        return ghost.stage.is_last() ? device::Tensor{} : make_boundary_rows(ghost);
    }
    device::Tensor output;
    measure_pass(key, ghost.pass, [&] {
        output = ghost.stage.forward(ghost.pass, input, ghost.stash, workspace_, ghost.events);
    });
    return output;
}

void GhostPasses::backward(const GhostPass& ghost, device::ConstTensor grad_output, device::Tensor grad_input) {
    const PassKey key = make_key(ghost);
    if (const PassTime* const time = find_time(key)) {
        if (ghost.instruction.op != schedule::Op::backward_input)
            ghost.pass.stream.layer_passes.backward +=
                static_cast<double>(ghost.stage.trained_parameters().size());
        return ghost.completes_gradients ? charge_layers(ghost, *time) : charge(ghost, *time);
    }
    restore_stash(ghost);
    measure_pass(key, ghost.pass, [&] {
        const auto& [instruction, stage, pass, stash, events, completes_gradients] = ghost;
        if (instruction.op == schedule::Op::backward) {
            stage.backward(pass, grad_output, grad_input, stash, workspace_, events);
        } else if (instruction.op == schedule::Op::backward_input) {
            stage.backward_input(pass, grad_output, grad_input, stash, events);
        } else {
            stage.backward_weight(pass, stash, events);
        }
    });
}

void GhostPasses::rehearse(const std::vector<Stage>& stages, const std::vector<int>& stage_indices,
                           const model::Pass& pass, bool splits_backward) {
    const PassEvents no_events;
    is_rehearsing_ = true;
    for (std::size_t s = 0; s < stages.size(); ++s) {
        ActivationStash stash(0, device::MemorySpace::ghost);
        GhostPass ghost{{schedule::Op::forward, stage_indices[s]}, stages[s], pass, stash, no_events};
        const auto make_boundary_tensor = [&](bool is_model_end) {
            return is_model_end ? device::Tensor{} : make_boundary_rows(ghost);
        };
        forward(ghost, make_boundary_tensor(stages[s].is_first()));
        if (!stages[s].is_trained()) continue;
        const device::Tensor grad_output = make_boundary_tensor(stages[s].is_last());
        const device::Tensor grad_input = make_boundary_tensor(stages[s].is_first_trained());
        const std::vector<schedule::Op> halves{schedule::Op::backward_input, schedule::Op::backward_weight};
        for (const schedule::Op op : splits_backward ? halves : std::vector{schedule::Op::backward}) {
            ghost.instruction.op = op;
            backward(ghost, grad_output, grad_input);
        }
    }
    is_rehearsing_ = false;
}

}  // namespace trireme::stage
