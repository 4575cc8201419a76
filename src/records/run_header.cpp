#include "records/run_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "trireme/base/numbers.hpp"
#include "trireme/cache/sample_cache.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/setup/batch_advice.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/sample_homes.hpp"
#include "trireme/setup/slow_ranks.hpp"

namespace trireme::records {
namespace {

std::string describe_model(const model::ModelConfig& model, std::size_t parameters) {
    const std::string heads = model.key_value_heads() == model.heads
                                  ? format_count(model.heads, "head")
                                  : format_count(model.heads, "head") + ", " +
                                        format_count(model.key_value_heads(), "key-value head");
    const std::string input =
        model.reads_images()
            ? fmt::format("images of {0} x {0} in patches of {1} x {1}", model.image.size, model.image.patch)
            : fmt::format("{} positions, vocabulary {}{}", format_with_commas(model.positions),
                          format_with_commas(model.vocabulary),
                          model.has_vocabulary_head() ? (model.tied ? ", tied head" : ", untied head") : "");
    const std::string labels =
        model.task == Task::classify ? fmt::format(", {} classes", model.labels) : std::string();
    return fmt::format("model     {} ({}, {}): {} parameters, {} of width {}, {}, {}{}\n", model.name,
                       to_string(model.family), to_string(model.task), format_with_commas(parameters),
                       format_count(model.layers, "block"), model.width, heads, input, labels);
}

// Names the stored model that the parameters come from, and lists in which ways this model or run differs from
// the stored one. Empty without a stored model.
std::string describe_init(const setup::Job& job) {
    if (!job.stored_model) return {};
    if (job.resumes) {
        std::string lines = "resume    " + job.stored_model->path();
        if (job.config.resumed_options) {
            for (const std::string& change : job.config.resumed_options->changes) lines += "; " + change;
            if (!job.config.resumed_options->layout.empty())
                lines += "\nresume    " + job.config.resumed_options->layout;
        }
        if (!job.rate_change.empty()) lines += "\nresume    " + job.rate_change;
        return lines + "\n";
    }
    const checkpoint::LoadReport report =
        check_parameters(*job.stored_model, list_unique_parameters(build_layers(job.model)));
    std::string line = "init      " + job.stored_model->path();
    if (!report.missing_parameters.empty()) {
        line += fmt::format("; new parameter tensors of the head: {} ({}, ...)",
                            report.missing_parameters.size(), report.missing_parameters.front());
    }
    if (!report.unused_tensors.empty()) {
        line += fmt::format("; stored tensors that this model does not use: {} ({}, ...)",
                            report.unused_tensors.size(), report.unused_tensors.front());
    }
    return line + "\n";
}

std::string describe_corpus(const setup::Job& job) {
    if (!job.corpus) {
        return fmt::format("samples   synthetic, of {} tokens each; the run computes no values\n",
                           format_with_commas(job.samples.max_length));
    }
    const data::CorpusInfo& corpus = job.corpus->info();
    const std::string contents =
        corpus.kind == data::RowKind::image
            ? fmt::format("{} images in {} classes", format_with_commas(corpus.rows), corpus.classes)
            : fmt::format("{} rows, {} tokens ({})", format_with_commas(corpus.rows),
                          format_with_commas(corpus.tokens), corpus.tokenizer_name);
    return fmt::format(
        "corpus    {}: {}; training samples {}, validation samples {}, longest sample {} tokens\n", corpus.path,
        contents, format_with_commas(job.samples.train.size()),
        format_with_commas(job.samples.validation.size()), format_with_commas(job.samples.max_length));
}

// Returns the line with the numbers of ranks and stages, the replicas per stage, and the tensor-parallel size
// of the first replica.
std::string describe_layout(const plan::Plan& plan, std::size_t ranks) {
    const layout::Layout& layout = plan.layout;
    std::string replicas;
    for (const layout::StageLayout& stage : layout.stages) {
        replicas += fmt::format("{}{}", replicas.empty() ? "" : ",", stage.replicas.size());
    }
    return fmt::format("layout    {}: {}, replicas {}, tensor ranks {}, schedule {}\n",
                       format_count(ranks, "rank"), format_count(layout.stages.size(), "stage"), replicas,
                       layout.stages.front().replicas.front().ranks.size(), plan.schedule);
}

// Returns a line about the frozen blocks; empty if there are none during the whole run.
std::string describe_frozen_blocks(const plan::Plan& plan, const setup::Job& job) {
    const config::FreezeConfig& freeze = job.config.policy.freeze;
    const bool has_rule = may_freeze(job.config.policy);
    if (plan.frozen == 0 && !has_rule) return "";
    const std::string depth =
        plan.frozen == 0 ? "no block yet"
                         : fmt::format("the embedding and {} of {} blocks", plan.frozen, job.model.layers);
    const std::string period = freeze.every == 0 ? "epoch" : format_count(freeze.every, "step");
    const std::string rule = has_rule ? fmt::format("; --freeze {} may freeze blocks after every {}",
                                                    find_name(config::freeze_rules, freeze.rule), period)
                                      : "";
    return fmt::format("frozen    {}{} (freezing changes what the model learns)\n", depth, rule);
}

// Returns a line about the cache of samples; empty without --cache.
std::string describe_cache(const plan::Plan& plan, const setup::Job& job) {
    if (!uses_cache(job.config.policy)) return "";
    if (plan.frozen == 0 && !may_freeze(job.config.policy) && job.config.policy.decisions.empty())
        return "cache     nothing to do, because nothing is frozen\n";
    const cache::SampleCache* const cache = find_cache(job, 0);
    if (cache == nullptr) return "cache     on\n";
    const cache::Places& places = cache->places();
    const auto describe_samples = [&](cache::Split split) {
        return fmt::format("{} of {}", format_with_commas(places.count_placed(split)),
                           format_with_commas(places.count_samples(split)));
    };
    const std::size_t nodes = count_nodes(job);
    const std::string advice =
        nodes > 1 && job.config.policy.cache.sample_homes == 1
            ? fmt::format("; set --sample-homes {} so that each node caches only its own samples", nodes)
            : "";
    return fmt::format("cache     up to {} MB per node: {} training samples, {} validation samples{}\n",
                       format_megabytes(places.bytes()), describe_samples(cache::Split::train),
                       describe_samples(cache::Split::validation), advice);
}

// Returns a line for each of --auto-pipe, --auto-dp and --batch-policy that has no effect; empty if there is
// none.
std::string describe_idle_options(const setup::Job& job, const plan::Plan& plan) {
    const config::FreezeConfig& freeze = job.config.policy.freeze;
    const bool follows = freeze.auto_pipe != config::AutoPipe::off;
    std::string text;
    if (follows && freeze.rule == config::FreezeRule::off)
        text += "auto-pipe nothing to do, because --freeze is off and the number of frozen blocks stays\n";
    else if (follows && plan.teams.size() == 1)
        text += "auto-pipe nothing to do, because all ranks share all layers\n";
    if (freeze.auto_dp.value_or(false) && !may_follow_depth(job.config.policy))
        text += "auto-dp   nothing to do, because --auto-pipe frees no rank\n";
    if (freeze.batch_policy == config::BatchPolicy::grow && !may_use_freed_ranks(job.config.policy))
        text += "batch     does not grow, because the number of pipelines stays\n";
    return text;
}

// Returns the line with the usable cores of the ranks, for example "cores     0-3 for rank 0 on node-1; 4-7 for
// rank 1 on node-1". Lists at most four sets of cores.
std::string describe_cores(const Manifest& manifest) {
    constexpr std::size_t max_core_sets = 4;
    std::map<std::pair<std::string, std::string>, std::vector<int>> ranks_by_cores;
    for (std::size_t rank = 0; rank < manifest.cores.size(); ++rank)
        ranks_by_cores[{manifest.hosts[rank], manifest.cores[rank]}].push_back(static_cast<int>(rank));
    std::vector<std::string> core_sets;
    for (const auto& [place, ranks] : ranks_by_cores)
        core_sets.push_back(
            fmt::format("{} for {} on {}", place.second, layout::ranks_to_string(ranks), place.first));
    if (core_sets.empty()) return "";
    const std::size_t unnamed_sets = core_sets.size() - std::min(core_sets.size(), max_core_sets);
    core_sets.resize(core_sets.size() - unnamed_sets);
    return fmt::format("cores     {}{}\n", fmt::join(core_sets, "; "),
                       unnamed_sets > 0 ? "; for the other ranks see manifest.json" : "");
}

// Returns the line with the predicted memory of the fullest rank, in GB, or in MB if it is less than 1 GB.
std::string describe_memory(const setup::RankMemory& memory) {
    const bool uses_megabytes = memory.total() < 1'000'000'000;
    const auto format_in_unit = [&](std::size_t bytes) {
        return fmt::format("{:.1f}", static_cast<double>(bytes) * (uses_megabytes ? 1e-6 : 1e-9));
    };
    const auto format_purpose = [&](const char* name, std::size_t bytes) {
        return bytes > 0 ? fmt::format(", {} {}", name, format_in_unit(bytes)) : "";
    };
    return fmt::format(
        "memory    {} {} on the fullest rank: parameters {}, gradients {}, optimizer {}, activations {}, "
        "workspace {}, messages {}{}{}{}\n",
        format_in_unit(memory.total()), uses_megabytes ? "MB" : "GB", format_in_unit(memory.parameters),
        format_in_unit(memory.gradients), format_in_unit(memory.optimizer), format_in_unit(memory.activations),
        format_in_unit(memory.workspace), format_in_unit(memory.messages),
        format_purpose("copy for checkpoints", memory.copy), format_purpose("GPU kernels", memory.kernels),
        format_purpose("copy for checkpoints in host memory", memory.copy_beside_gpu));
}

}  // namespace

std::string describe_run(const setup::Job& job, const Manifest& manifest, const plan::Plan& plan,
                         const std::string& origin, const setup::RankMemory& memory) {
    std::ostringstream out;
    out << describe_model(job.model, manifest.parameters) << describe_init(job) << describe_corpus(job);
    if (!origin.empty()) out << "plan      " << origin << '\n';
    out << describe_layout(plan, manifest.hosts.size());
    const std::string warning =
        setup::make_idle_warning(job.config, plan, static_cast<int>(manifest.hosts.size()));
    if (!warning.empty()) out << "warning   " << warning << '\n';
    const char* const note =
        job.config.run.is_batch_raised ? " (--batch is not set; one sample per micro-batch)" : "";
    out << fmt::format(
        "step      {}{}, {}, {} on {}, {} per rank\n", format_count(job.config.run.batch, "sample"), note,
        format_count(static_cast<std::size_t>(plan.microbatches()), "micro-batch"), to_string(job.dtype),
        manifest.device, format_count(static_cast<std::size_t>(manifest.threads), "thread"));
    if (!manifest.gpu_messages.empty()) out << "messages  " << manifest.gpu_messages << '\n';
    if (!manifest.kernel_times.empty()) out << "kernels   times as measured, " << manifest.kernel_times << '\n';
    out << describe_frozen_blocks(plan, job) << describe_cache(plan, job) << describe_idle_options(job, plan)
        << describe_cores(manifest) << describe_memory(memory);
    const std::string elastic = setup::describe_elastic(job, plan);
    if (!elastic.empty()) out << "elastic   " << elastic << '\n';
    if (!manifest.slow.empty()) out << "slow      on purpose: " << setup::describe(manifest.slow) << '\n';
    return out.str();
}

}  // namespace trireme::records
