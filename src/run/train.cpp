#include "trireme/run/train.hpp"

#include "run/backend.hpp"
#include "trireme/setup/device_choice.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/profile_choice.hpp"

namespace trireme::run {
namespace {

// Trains, or only shows the plan with --dry-run. Constructs the Tracing object in `tracing`, with options from
// the backend. `tracing` must outlive `backend`, whose threads record events in it. Therefore the caller
// declares an empty `tracing` before it makes the backend.
Ending train_or_show_plan(Backend& backend, std::optional<rank::Tracing>& tracing, const comm::Session& session,
                          comm::Communicator& control) {
    if (backend.context().job.config.run.dry_run) {
        backend.show_plan();
        return Ending::done;
    }
    tracing.emplace(backend.context().job.config.run.trace, control);
    return run_steps(backend, *tracing, session, control);
}

}  // namespace

Ending train(const config::RunConfig& requested_config, comm::Session& session, device::StopSignals* signals) {
    rank::Stopping stopping(requested_config, signals);
    rank::Watchdog watchdog(session, requested_config.run.stall_timeout);
    const auto control = session.make_group_of_all_ranks("control", watchdog.wait_policy());
    const config::RunConfig config = setup::assign_profiles_to_ranks(
        setup::choose_device(requested_config, session, *control), session, *control);
    std::optional<rank::Tracing> tracing;
    if (setup::is_ghost_run(config)) {
        const auto backend = make_ghost_backend(config, session, *control, watchdog.wait_policy());
        return train_or_show_plan(*backend, tracing, session, *control);
    }
    Continuation continuation(session.rank() == 0 ? signals : nullptr);
    const auto backend =
        make_real_backend(config, {session, *control, watchdog, stopping, continuation}, signals);
    const comm::AbortMessagesOnException message_guard(watchdog.progress_engine());
    try {
        return train_or_show_plan(*backend, tracing, session, *control);
    } catch (const ResourceError& error) {
        throw ResourceError(continuation.append_hint(error.what()), error.where());
    }
}

}  // namespace trireme::run
