#include "trireme/records/console.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <ostream>

#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/setup/batch_advice.hpp"
#include "trireme/setup/slow_ranks.hpp"

namespace trireme::records {
namespace {

std::string megabytes(std::size_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) * 1e-6); }

std::string duration(double seconds) {
    const auto whole = static_cast<long>(std::lround(seconds));
    if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
    if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
    return fmt::format("{}s", whole);
}

std::string model_line(const model::ModelConfig& model, std::size_t parameters) {
    const std::string heads = model.key_groups() == model.heads
                                  ? fmt::format("{} heads", model.heads)
                                  : fmt::format("{} heads in {} groups", model.heads, model.key_groups());
    const std::string reads =
        model.reads_images()
            ? fmt::format("images of {0} x {0} in patches of {1} x {1}", model.image.size, model.image.patch)
            : fmt::format("{} positions, vocabulary {}{}", with_commas(model.positions),
                          with_commas(model.vocabulary),
                          model.has_vocabulary_head() ? (model.tied ? ", tied head" : ", untied head") : "");
    const std::string labels =
        model.task == Task::classify ? fmt::format(", {} classes", model.labels) : std::string();
    return fmt::format("model     {} ({}, {}): {} parameters, {} layers x {} x {}, {}{}\n", model.name,
                       name_of(model.family), name_of(model.task), with_commas(parameters), model.layers,
                       model.width, heads, reads, labels);
}

// Describes where the parameters come from, and which of them the stored model lacks; empty if they are random.
std::string init_line(const setup::Job& job) {
    if (!job.stored) return {};
    if (job.resumes) {
        std::string lines = "resume    " + job.stored->place();
        if (job.config.resumed) {
            for (const std::string& change : job.config.resumed->changes) lines += "; " + change;
            if (!job.config.resumed->layout.empty()) lines += "\nresume    " + job.config.resumed->layout;
        }
        if (!job.rate_change.empty()) lines += "\nresume    " + job.rate_change;
        return lines + "\n";
    }
    const checkpoint::LoadReport report = check_fit(*job.stored, unique_parameters(build_layers(job.model)));
    std::string line = "init      " + job.stored->place();
    if (!report.missing.empty()) {
        line += fmt::format("; {} parameters of the head are new ({}, ...)", report.missing.size(),
                            report.missing.front());
    }
    if (!report.unused.empty()) {
        line += fmt::format("; {} stored tensors are of no use here ({}, ...)", report.unused.size(),
                            report.unused.front());
    }
    return line + "\n";
}

std::string corpus_line(const setup::Job& job) {
    if (!job.corpus) {
        return fmt::format("samples   made up, of {} tokens, and nothing is computed\n",
                           with_commas(job.samples.longest));
    }
    const data::CorpusInfo& corpus = job.corpus->info();
    const std::string holds =
        corpus.kind == data::RowKind::image
            ? fmt::format("{} images in {} classes", with_commas(corpus.rows), corpus.classes)
            : fmt::format("{} rows, {} tokens ({})", with_commas(corpus.rows), with_commas(corpus.tokens),
                          corpus.tokenizer_name);
    return fmt::format("corpus    {}: {}; {} samples to train on, {} to validate, longest {}\n", corpus.path,
                       holds, with_commas(job.samples.train.size()), with_commas(job.samples.validation.size()),
                       job.samples.longest);
}

// Returns the line with the numbers of ranks and stages, the replicas of each stage, and the size of a team.
std::string layout_line(const plan::Plan& plan, std::size_t ranks) {
    const layout::Layout& layout = plan.layout;
    std::string replicas;
    for (const layout::StageLayout& stage : layout.stages) {
        replicas += fmt::format("{}{}", replicas.empty() ? "" : ",", stage.replicas.size());
    }
    return fmt::format("layout    {}: {}, replicas {}, tensor ranks {}, schedule {}\n", counted(ranks, "rank"),
                       counted(layout.stages.size(), "stage"), replicas,
                       layout.stages.front().replicas.front().ranks.size(), plan.schedule);
}

// Returns the usable cores of the ranks: "cores     0-3 for rank 0 on node-1; 4-7 for rank 1 on node-1". Names
// at most `most_named` sets of cores.
std::string cores_line(const Manifest& manifest) {
    constexpr std::size_t most_named = 4;
    std::map<std::pair<std::string, std::string>, std::vector<int>> sharers;
    for (std::size_t rank = 0; rank < manifest.cores.size(); ++rank)
        sharers[{manifest.hosts[rank], manifest.cores[rank]}].push_back(static_cast<int>(rank));
    std::vector<std::string> words;
    for (const auto& [place, ranks] : sharers)
        words.push_back(
            fmt::format("{} for {} on {}", place.second, layout::text_of_ranks(ranks), place.first));
    if (words.empty()) return "";
    const std::size_t more = words.size() - std::min(words.size(), most_named);
    words.resize(words.size() - more);
    return fmt::format("cores     {}{}\n", fmt::join(words, "; "), more > 0 ? "; others: manifest.json" : "");
}

// The unit is GB, or MB if the fullest rank holds less than one GB.
std::string memory_line(const setup::RankMemory& memory) {
    const bool is_small = memory.total() < 1'000'000'000;
    const auto in_unit = [&](std::size_t bytes) {
        return fmt::format("{:.1f}", static_cast<double>(bytes) * (is_small ? 1e-6 : 1e-9));
    };
    const auto part = [&](const char* name, std::size_t bytes) {
        return bytes > 0 ? fmt::format(", {} {}", name, in_unit(bytes)) : "";
    };
    return fmt::format(
        "memory    {} {} on the fullest rank: parameters {}, gradients {}, optimizer {}, activations {}, "
        "workspace {}, messages {}{}{}{}\n",
        in_unit(memory.total()), is_small ? "MB" : "GB", in_unit(memory.parameters), in_unit(memory.gradients),
        in_unit(memory.optimizer), in_unit(memory.activations), in_unit(memory.workspace),
        in_unit(memory.messages), part("copy for checkpoints", memory.copy),
        part("kernels of the GPU", memory.kernels),
        part("beside the GPU a copy for checkpoints", memory.copy_beside_gpu));
}

// Empty for ghost runs, which compute no loss.
std::string loss_text(const StepOutcome& outcome) {
    return std::isnan(outcome.loss) && !outcome.is_skipped ? "" : fmt::format("loss {:.4f}  ", outcome.loss);
}

std::string update_text(const StepOutcome& outcome) {
    if (std::isnan(outcome.loss) && !outcome.is_skipped)
        return fmt::format("{:.3f} s a step  ", outcome.seconds);
    return fmt::format("norm {:.2f}  lr {:.2e}  ", outcome.gradient_norm, outcome.rate);
}

std::string energy_line(const Figures& f, double joules) {
    return fmt::format("  energy          {:.1f} J, {:.4g} J per token; {:.1f} W per rank on average\n", joules,
                       joules / static_cast<double>(f.tokens), joules / f.seconds / f.ranks);
}

// Describes a change of plan: the skipped and offloaded matmuls, or the bytes that moved.
std::string what_changes(const plan::Decision& decision, const PlanChange& change) {
    const std::vector<std::string> changes = sharing_words(decision);
    if (!changes.empty()) return fmt::format("{}", fmt::join(changes, "; "));
    if (change.moved_bytes + change.kept_bytes == 0) return "every rank computes all of its products again";
    return fmt::format("{} MB moved in {:.3f} s", megabytes(change.moved_bytes), change.seconds);
}

std::string device_of(const setup::Job& job, const Manifest& manifest, int rank) {
    return job.devices ? job.devices->of(rank).name : manifest.device;
}

std::string verdict_of(const Figures& f) {
    if (!f.complaint.empty()) return "INVALID: " + f.complaint;
    if (f.approximations.empty()) return "VALID";
    return fmt::format("VALID, approximate: {}", fmt::join(f.approximations, "; "));
}

// A slow rank counts as slow until it is as fast as the others, but is called slow only above the threshold.
std::string words_of(const policy::SlownessChange& change) {
    if (change.factor == 1) return "is as fast as others again";
    if (change.factor <= policy::SlownessRules{}.slow)
        return fmt::format("is nearly as fast as others again: it takes {:.2f} times as long", change.factor);
    return fmt::format("is slow: {:.1f} times as long as others", change.factor);
}

// Returns the remark at the end of a step's line; may be empty.
const char* remark_on(const StepOutcome& outcome) {
    if (outcome.is_skipped) return "  SKIPPED: not finite";
    return outcome.is_rolled_back.value_or(false) ? "  rolled back" : "";
}

}  // namespace

Console::Console(std::ostream& out, const setup::Job& job) : out_(out), job_(job) {}

void Console::introduce(const Manifest& manifest, const plan::Plan& plan, const std::string& origin,
                        const setup::RankMemory& memory, const std::string& run_dir) {
    if (job_.config.run.quiet) return;
    out_ << model_line(job_.model, manifest.parameters) << init_line(job_) << corpus_line(job_);
    if (!origin.empty()) out_ << "plan      " << origin << '\n';
    out_ << layout_line(plan, manifest.hosts.size());
    const std::string warning = setup::idle_warning(job_.config, plan, static_cast<int>(manifest.hosts.size()));
    if (!warning.empty()) out_ << "warning   " << warning << '\n';
    const char* const note =
        job_.config.run.is_batch_raised ? " (--batch is not set: one for each micro-batch)" : "";
    out_ << fmt::format("step      {}{}, {}, {} on {}, {} a rank\n", counted(job_.config.run.batch, "sample"),
                        note, counted(static_cast<std::size_t>(plan.microbatches()), "micro-batch"),
                        name_of(job_.dtype), manifest.device,
                        counted(static_cast<std::size_t>(manifest.threads), "thread"));
    if (!manifest.gpu_messages.empty()) out_ << "messages  " << manifest.gpu_messages << '\n';
    if (!manifest.kernel_times.empty()) out_ << "kernels   as measured, " << manifest.kernel_times << '\n';
    out_ << cores_line(manifest) << memory_line(memory);
    if (!manifest.slow.empty()) out_ << "slow      on purpose: " << setup::words_of(manifest.slow) << '\n';
    if (!run_dir.empty()) out_ << "run       " << run_dir << '\n';
    flush();
}

void Console::remarks(const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) out_ << "records   " << remark << '\n';
    flush();
}

void Console::step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                   double peak_flops) {
    seconds_ += outcome.seconds;
    ++steps_;
    const bool is_due = (step + 1) % job_.config.run.log_every == 0 || step + 1 == job_.steps;
    if (job_.config.run.quiet) return;
    if (job_.config.run.on_nan == config::OnNan::skip && !outcome.non_finite.empty()) {
        out_ << fmt::format("step {:>5}/{}  {}\n", step + 1, job_.steps, outcome.non_finite);
        flush();
    }
    if (!is_due) return;
    const double mfu = flops.of_step(outcome.size) / (outcome.seconds * peak_flops);
    const double left = seconds_ / static_cast<double>(steps_) * static_cast<double>(job_.steps - step - 1);
    out_ << fmt::format("step {:>5}/{}  {}{:>7.0f} tokens/s  MFU {:>4.1f} %  {}{} left{}\n", step + 1,
                        job_.steps, loss_text(outcome),
                        static_cast<double>(outcome.size.tokens) / outcome.seconds, 100 * mfu,
                        update_text(outcome), duration(left), remark_on(outcome));
    if (job_.config.run.verbose) {
        out_ << fmt::format(
            "            {:.3f} s: {:.3f} in kernels, {:.3f} waiting; {} tokens of {} computed\n",
            outcome.seconds, outcome.compute_seconds, outcome.waits.sum(), outcome.size.tokens,
            outcome.padded_tokens);
    }
    flush();
}

void Console::evaluation(std::size_t step, const Evaluation& evaluation) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  validation {}\n", step, job_.steps, describe(evaluation));
    flush();
}

void Console::saved(const SaveOutcome& outcome) {
    if (!outcome.complaint.empty()) {
        out_ << fmt::format("step {:>5}/{}  NOT SAVED: {}\n", outcome.step, job_.steps, outcome.complaint);
        flush();
    } else if (job_.config.run.verbose) {
        out_ << fmt::format("step {:>5}/{}  saved\n", outcome.step, job_.steps);
        flush();
    }
}

void Console::waited_to_save(const SaveWait& wait) {
    constexpr double worth_a_line = 0.1;  // seconds
    if (has_said_wait_ || wait.seconds < worth_a_line) return;
    has_said_wait_ = true;
    out_ << fmt::format(
        "step {:>5}/{}  the checkpoint waited {:.1f} s for the one before; save less often, or on a "
        "faster disk\n",
        wait.step, job_.steps, wait.seconds);
    flush();
}

void Console::slowness(std::size_t step, const policy::SlownessChange& change, const Manifest& manifest) {
    if (job_.config.run.quiet) return;
    const std::string& host = manifest.hosts.at(static_cast<std::size_t>(change.rank));
    out_ << fmt::format("step {:>5}/{}  rank {} on {}, {}, {}\n", step + 1, job_.steps, change.rank, host,
                        device_of(job_, manifest, change.rank), words_of(change));
    flush();
}

void Console::no_change(std::size_t step, const std::string& why) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  no change: {}\n", step, job_.steps, why);
    flush();
}

void Console::change_of_plan(const plan::Decision& decision, const PlanChange& change) {
    if (job_.config.run.quiet) return;
    out_ << fmt::format("step {:>5}/{}  plan {} -> {}{}: {}\n", decision.step, job_.steps, change.from,
                        change.to, decision.reason.empty() ? "" : " (" + decision.reason + ")",
                        what_changes(decision, change));
    flush();
}

void Console::finish(const Figures& f, const std::string& peak_is, const std::string& run_dir) {
    out_ << "\nFigures of merit\n";
    if (f.last_loss) {
        out_ << fmt::format("  loss            {:.4f} (first step {:.4f})\n", *f.last_loss, *f.first_loss);
    }
    if (f.validation) out_ << "  validation      " << describe(*f.validation) << '\n';
    out_ << fmt::format("  tokens/s        {:.0f}, {:.0f} per rank; {} tokens in {}\n", f.tokens_per_second(),
                        f.tokens_per_second() / f.ranks, with_commas(f.tokens), duration(f.seconds));
    if (job_.model.reads_images())
        out_ << fmt::format("  images/s        {:.1f}\n",
                            f.tokens_per_second() / static_cast<double>(job_.model.positions));
    out_ << fmt::format("  model GFLOP/s   {:.1f} of {:.1f} ({}): MFU {:.1f} %{}\n", f.flops / f.seconds * 1e-9,
                        f.peak_flops * 1e-9, peak_is, 100 * f.mfu(),
                        f.mfu_causal() ? fmt::format(", causal {:.1f} %", 100 * *f.mfu_causal()) : "");
    const BubbleParts parts = f.bubble_parts();
    out_ << fmt::format(
        "  bubble          {:.1f} %: other stages {:.1f} (limit {:.1f}: the schedule's), tensor ranks {:.1f}, "
        "gradients {:.1f}, the rest {:.1f}\n",
        100 * f.bubble(), 100 * parts.schedule, 100 * f.bubble_limit, 100 * parts.wait_tensor,
        100 * parts.wait_data, 100 * parts.wait_other);
    if (f.joules()) out_ << energy_line(f, *f.joules());
    if (f.rolled_back) {
        out_ << fmt::format("  updates         {} of {} speculative updates were rolled back\n", *f.rolled_back,
                            f.steps);
    }
    if (f.plan_changes > 0) {
        out_ << fmt::format("  plan changes    {}: {} MB moved in {:.3f} s\n", f.plan_changes,
                            megabytes(f.moved_bytes), f.change_seconds);
    }
    out_ << fmt::format("  padding         {:.1f} % of computed tokens (limit 0)\n",
                        100 * (1 - static_cast<double>(f.tokens) / static_cast<double>(f.padded_tokens)));
    const std::string grown =
        f.grown_bytes ? fmt::format("grew by {} MB per rank; ", megabytes(*f.grown_bytes)) : "";
    out_ << fmt::format("  memory          {}{} MB predicted\n", grown, megabytes(f.predicted_bytes));
    if (f.stopped) {
        out_ << fmt::format("  stopped         after step {} of {}: {}{}\n", f.stopped->step, job_.steps,
                            f.stopped->because, f.stopped->is_saved ? "; resume with --resume auto" : "");
        if (f.stopped->is_saved)
            out_ << fmt::format(
                "                  scripts can test the file {}/stopped: some launchers lose exit code 75\n",
                run_dir);
    }
    if (!f.slowed.empty()) out_ << "  slowed          on purpose: " << f.slowed << '\n';
    for (const std::string& remark : f.remarks) out_ << "  remark          " << remark << '\n';
    out_ << "  " << verdict_of(f) << '\n';
    out_ << "  written to " << run_dir << '\n';
    flush();
}

// A failed stream accepts no more output. The run continues and loses only its console.
void Console::flush() {
    out_ << std::flush;
    if (out_ || has_said_loss_) return;
    has_said_loss_ = true;
    std::cerr << "trireme: standard output is closed or full; the run continues without it and keeps writing "
                 "its records to the run directory\n";
}

}  // namespace trireme::records
