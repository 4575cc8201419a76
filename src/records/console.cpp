#include "trireme/records/console.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <ostream>

#include "records/run_header.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/setup/batch_advice.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/slow_ranks.hpp"

namespace trireme::records {
namespace {

std::string format_megabytes(std::size_t bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes) * 1e-6);
}

std::string format_duration(double seconds) {
    const auto whole_seconds = static_cast<long>(std::lround(seconds));
    if (whole_seconds >= 3600) return fmt::format("{}h{:02}m", whole_seconds / 3600, whole_seconds / 60 % 60);
    if (whole_seconds >= 60) return fmt::format("{}m{:02}s", whole_seconds / 60, whole_seconds % 60);
    return fmt::format("{}s", whole_seconds);
}

// Returns, for example, "loss 1.2345  "; empty for ghost runs, which compute no loss.
std::string format_loss(const StepOutcome& outcome) {
    return std::isnan(outcome.loss) && !outcome.is_skipped ? "" : fmt::format("loss {:.4f}  ", outcome.loss);
}

// Returns, for example, "norm 1.23  lr 6.00e-04  ". For a ghost run, which has no norm, returns the duration
// of the step.
std::string format_update(const StepOutcome& outcome) {
    if (std::isnan(outcome.loss) && !outcome.is_skipped)
        return fmt::format("{:.3f} s per step  ", outcome.seconds);
    return fmt::format("norm {:.2f}  lr {:.2e}  ", outcome.gradient_norm, outcome.learning_rate);
}

std::string format_energy(const Figures& f, const EnergyPhases& energy) {
    const double joules = energy.sum();
    std::string text =
        fmt::format("  energy          {:.1f} J, {:.4g} J per token; {:.1f} W per rank on average\n", joules,
                    joules / static_cast<double>(f.tokens), joules / f.seconds / f.ranks);
    if (f.late_step && f.before_clocks && f.before_clocks->joules && f.before_clocks->min_joules)
        text += fmt::format(
            "                  {:.4g} J and {:.4g} s a step in the last tenth; {:.4g} J and {:.4g} s before "
            "clocks "
            "were set, at least {:.4g} J in that time\n",
            *f.late_step->joules, f.late_step->seconds, *f.before_clocks->joules, f.before_clocks->seconds,
            *f.before_clocks->min_joules);
    if (joules > 0)
        text += fmt::format(
            "                  {:.1f} % while kernels ran, {:.1f} % blocked by other ranks, {:.1f} % idle\n",
            100 * energy.compute / joules, 100 * energy.blocked / joules, 100 * energy.idle / joules);
    return text;
}

// Describes the skipped and offloaded matmuls of the new plan. If there are none, describes the bytes that the
// change moved. If the change moved and kept no bytes, says that no rank skips channels or offloads work.
std::string describe_plan_change(const plan::Decision& decision, const PlanChange& change) {
    const std::vector<std::string> changes = describe_sharing(decision);
    if (!changes.empty()) return fmt::format("{}", fmt::join(changes, "; "));
    if (changes_only_clocks(decision) && change.from == change.to) return "the same clocks";
    if (changes_only_clocks(decision))
        return decision.extra_forwards.empty() ? "other clocks"
                                               : "other clocks, and perhaps another order of passes";
    if (change.moved_bytes + change.kept_bytes == 0) return "no rank skips channels or offloads work";
    return fmt::format("{} MB moved in {:.3f} s", format_megabytes(change.moved_bytes), change.seconds);
}

std::string describe_device(const setup::Job& job, const Manifest& manifest, int rank) {
    return job.devices ? job.devices->find_device(rank).name : manifest.device;
}

std::string describe_verdict(const Figures& f) {
    if (!f.complaint.empty()) return "INVALID: " + f.complaint;
    if (f.approximations.empty()) return "VALID";
    return fmt::format("VALID, approximate: {}", fmt::join(f.approximations, "; "));
}

// A rank remains slow until it is as fast as the others (factor 1). A rank that remains slow with a factor of
// at most SlownessRules::slow_factor is "nearly as fast".
std::string describe(const policy::SlownessChange& change) {
    if (change.factor == 1) return "is as fast as others again";
    if (change.factor <= policy::SlownessRules{}.slow_factor)
        return fmt::format("is nearly as fast as others again: it takes {:.2f} times as long", change.factor);
    return fmt::format("is slow: it takes {:.1f} times as long as others", change.factor);
}

// Returns, for example, "frozen 8/12, cache 95 %  "; empty if no block is frozen.
std::string format_depth(const StepOutcome& outcome, const model::ModelConfig& model) {
    const int frozen = outcome.size.frozen_blocks;
    if (frozen == 0) return "";
    const double visits = outcome.work.cache_hits + outcome.work.cache_misses;
    const std::string hits =
        visits > 0 ? fmt::format(", cache {:.0f} %", 100 * outcome.work.cache_hits / visits) : "";
    return fmt::format("frozen {}/{}{}  ", frozen, model.layers, hits);
}

// Returns the remark at the end of a step's line; may be empty.
const char* find_step_remark(const StepOutcome& outcome) {
    if (outcome.is_skipped) return "  SKIPPED: loss or gradient not finite";
    return outcome.is_rolled_back.value_or(false) ? "  update rolled back" : "";
}

}  // namespace

Console::Console(std::ostream& out, const setup::Job& job) : out_(out), job_(job), steps_(job.steps) {}

void Console::print_header(const Manifest& manifest, const plan::Plan& plan, const std::string& origin,
                           const setup::RankMemory& memory, const std::string& run_dir) {
    if (job_.config.run.quiet) return;
    out_ << describe_run(job_, manifest, plan, origin, memory);
    if (!run_dir.empty()) out_ << "run       " << run_dir << '\n';
    flush();
}

void Console::print_remarks(const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) out_ << "records   " << remark << '\n';
    flush();
}

void Console::print_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                         double peak_flops) {
    step_seconds_ += outcome.seconds;
    ++step_count_;
    const bool is_due = (step + 1) % job_.config.run.log_every == 0 || step + 1 == steps_;
    if (job_.config.run.quiet) return;
    if (job_.config.run.on_nan == config::OnNan::skip && !outcome.first_non_finite.empty()) {
        out_ << fmt::format("step {:>5}/{}  {}\n", step + 1, steps_, outcome.first_non_finite);
        flush();
    }
    if (!is_due) return;
    const double mfu = flops.compute_step_flops(outcome.size) / (outcome.seconds * peak_flops);
    const double remaining_seconds =
        step_seconds_ / static_cast<double>(step_count_) * static_cast<double>(steps_ - step - 1);
    out_ << fmt::format("step {:>5}/{}  {}{:>7.0f} tokens/s  MFU {:>4.1f} %  {}{}{} left{}\n", step + 1, steps_,
                        format_loss(outcome), static_cast<double>(outcome.size.tokens) / outcome.seconds,
                        100 * mfu, format_update(outcome), format_depth(outcome, job_.model),
                        format_duration(remaining_seconds), find_step_remark(outcome));
    if (job_.config.run.verbose) {
        out_ << fmt::format(
            "            {:.3f} s, per rank {:.3f} s in kernels and {:.3f} s waiting; {} tokens, {} with "
            "padding\n",
            outcome.seconds, outcome.compute_seconds, outcome.waits.sum(), outcome.size.tokens,
            outcome.padded_tokens);
    }
    flush();
}

void Console::print_evaluation(std::size_t step, const Evaluation& evaluation) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  validation {}\n", step, steps_, describe(evaluation));
    flush();
}

void Console::report_save(const SaveOutcome& outcome) {
    if (!outcome.complaint.empty()) {
        out_ << fmt::format("step {:>5}/{}  NOT SAVED: {}\n", outcome.step, steps_, outcome.complaint);
        flush();
    } else if (job_.config.run.verbose) {
        out_ << fmt::format("step {:>5}/{}  checkpoint saved\n", outcome.step, steps_);
        flush();
    }
}

void Console::report_save_wait(const SaveWait& wait) {
    constexpr double min_reported_seconds = 0.1;
    if (has_reported_wait_ || wait.seconds < min_reported_seconds) return;
    has_reported_wait_ = true;
    out_ << fmt::format(
        "step {:>5}/{}  the checkpoint waited {:.1f} s for the previous one; save less often, or to a "
        "faster disk\n",
        wait.step, steps_, wait.seconds);
    flush();
}

void Console::report_slowness(std::size_t step, const policy::SlownessChange& change,
                              const Manifest& manifest) {
    if (job_.config.run.quiet) return;
    const std::string& host = manifest.hosts.at(static_cast<std::size_t>(change.rank));
    out_ << fmt::format("step {:>5}/{}  rank {} on {}, {}, {}\n", step + 1, steps_, change.rank, host,
                        describe_device(job_, manifest, change.rank), describe(change));
    flush();
}

void Console::report_full_cache(std::size_t step, int rank, const Manifest& manifest) {
    if (std::exchange(has_reported_full_cache_, true)) return;
    out_ << fmt::format(
        "step {:>5}/{}  /dev/shm of {} is full, so that its cache holds fewer samples; the others are computed "
        "in every epoch\n",
        step + 1, steps_, manifest.hosts.at(static_cast<std::size_t>(rank)));
    flush();
}

void Console::report_plan_kept(std::size_t step, const std::string& why) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  no plan change: {}\n", step, steps_, why);
    flush();
}

void Console::report_settled_clocks(std::size_t step, const std::string& figures) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  energy: {}\n", step, steps_, figures);
    flush();
}

void Console::report_plan_change(const plan::Decision& decision, const PlanChange& change) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  plan {} -> {}{}: {}\n", decision.step, steps_, change.from, change.to,
                        decision.reason.empty() ? "" : " (" + decision.reason + ")",
                        describe_plan_change(decision, change));
    flush();
}

void Console::print_summary(const Figures& f, const std::string& peak_description, const std::string& run_dir) {
    out_ << "\nFigures of merit\n";
    if (f.last_loss) {
        out_ << fmt::format(
            "  loss            {:.4f} (mean of the last tenth of the steps; first step {:.4f})\n", *f.last_loss,
            *f.first_loss);
    }
    if (f.validation) out_ << "  validation      " << describe(*f.validation) << '\n';
    out_ << fmt::format("  tokens/s        {:.0f}, {:.0f} per rank; {} tokens in {}\n",
                        f.compute_tokens_per_second(), f.compute_tokens_per_second() / f.ranks,
                        format_with_commas(f.tokens), format_duration(f.seconds));
    if (job_.model.reads_images())
        out_ << fmt::format("  images/s        {:.1f}\n",
                            f.compute_tokens_per_second() / static_cast<double>(job_.model.positions));
    out_ << fmt::format(
        "  model GFLOP/s   {:.1f} of {:.1f} ({}): MFU {:.1f} %{}\n", f.flops / f.seconds * 1e-9,
        f.peak_flops * 1e-9, peak_description, 100 * f.compute_mfu(),
        f.compute_causal_mfu() ? fmt::format(", causal {:.1f} %", 100 * *f.compute_causal_mfu()) : "");
    const BubbleBreakdown breakdown = f.break_down_bubble();
    out_ << fmt::format(
        "  bubble          {:.1f} %: waiting for other stages {:.1f} (limit of the schedule {:.1f}), tensor "
        "ranks {:.1f}, gradients {:.1f}; other {:.1f}\n",
        100 * f.compute_bubble(), 100 * breakdown.schedule, 100 * f.bubble_limit, 100 * breakdown.wait_tensor,
        100 * breakdown.wait_data, 100 * breakdown.wait_other);
    if (const auto energy = sum_energy(f.energy_of_ranks)) out_ << format_energy(f, *energy);
    if (f.rolled_back_updates) {
        out_ << fmt::format("  updates         {} of {} speculative updates were rolled back\n",
                            *f.rolled_back_updates, f.steps);
    }
    if (f.plan_changes > 0) {
        out_ << fmt::format("  plan changes    {}: {} MB moved in {:.3f} s\n", f.plan_changes,
                            format_megabytes(f.moved_bytes), f.plan_change_seconds);
    }
    if (!f.elastic_outcomes.empty())
        out_ << fmt::format("  decisions       {}\n", describe_outcomes(f.elastic_outcomes));
    out_ << fmt::format("  padding         {:.1f} % of computed tokens (ideal: 0)\n",
                        100 * (1 - static_cast<double>(f.tokens) / static_cast<double>(f.padded_tokens)));
    const std::string growth =
        f.growth_bytes ? fmt::format("grew by {} MB per rank; ", format_megabytes(*f.growth_bytes)) : "";
    out_ << fmt::format("  memory          {}{} MB predicted\n", growth, format_megabytes(f.predicted_bytes));
    if (f.early_end) {
        out_ << fmt::format("  stopped         after step {} of {}: {}{}\n", f.early_end->step, steps_,
                            f.early_end->reason, f.early_end->is_saved ? "; resume with --resume auto" : "");
        if (f.early_end->is_saved)
            out_ << fmt::format(
                "                  scripts can test for the file {}/stopped, because some launchers lose exit "
                "code 75\n",
                run_dir);
    }
    if (!f.emulated_slowness.empty()) out_ << "  slowed          on purpose: " << f.emulated_slowness << '\n';
    for (const std::string& remark : f.remarks) out_ << "  remark          " << remark << '\n';
    out_ << "  " << describe_verdict(f) << '\n';
    out_ << "  written to " << run_dir << '\n';
    flush();
}

// A failed stream accepts no more output. The run continues and loses only its console.
void Console::flush() {
    out_ << std::flush;
    if (out_ || has_reported_lost_output_) return;
    has_reported_lost_output_ = true;
    std::cerr << "trireme: standard output is closed or full; the run continues without it and keeps writing "
                 "its records to the run directory\n";
}

}  // namespace trireme::records
