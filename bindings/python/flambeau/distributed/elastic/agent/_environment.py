"""What the environment of each rank says."""

import os


def layout(nodes, node_rank):
    """The first global rank and the first rank of its role on a node, and how many ranks there are
    in all and of that role."""
    role = nodes[node_rank]["role"]
    before, alike = nodes[:node_rank], [n for n in nodes if n["role"] == role]
    return {
        "base": sum(n["nproc"] for n in before),
        "role_base": sum(n["nproc"] for n in before if n["role"] == role),
        "world": sum(n["nproc"] for n in nodes),
        "role_world": sum(n["nproc"] for n in alike),
    }


def variables(config, nodes, attempt):
    """The variables of each local rank."""
    at = layout(nodes.nodes, nodes.rank)
    shared = {
        "GROUP_RANK": nodes.rank,
        "ROLE_NAME": config.role,
        "LOCAL_WORLD_SIZE": config.nproc_per_node,
        "WORLD_SIZE": at["world"],
        "GROUP_WORLD_SIZE": len(nodes.nodes),
        "ROLE_WORLD_SIZE": at["role_world"],
        "MASTER_ADDR": nodes.addr,
        "MASTER_PORT": nodes.port,
        "TORCHELASTIC_RESTART_COUNT": attempt,
        "TORCHELASTIC_MAX_RESTARTS": config.max_restarts,
        "TORCHELASTIC_RUN_ID": config.run_id,
        "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_SIGNALS_TO_HANDLE": config.signals_to_handle,
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", 1),
        **_threads(config.nproc_per_node),
        **({} if nodes.round is None else {"FLAMBEAU_ROUND": nodes.round}),
    }
    envs = {}
    for local in range(config.nproc_per_node):
        own = {
            "RANK": at["base"] + local,
            "LOCAL_RANK": local,
            "ROLE_RANK": at["role_base"] + local,
            **(_one_gpu(local) if config.virtual_local_rank else {}),
        }
        envs[local] = {name: str(value) for name, value in {**shared, **own}.items()}
    return envs


def _threads(nproc):
    """Cores are shared by the ranks, where the user has not said otherwise."""
    if nproc == 1:
        return {}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = {"OMP_NUM_THREADS": 1, "FLAMBEAU_NUM_THREADS": max(1, (cores or 1) // nproc)}
    return {name: count for name, count in wanted.items() if not os.environ.get(name)}


def _one_gpu(local):
    """The rank sees its GPU alone, as number 0."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = visible.split(",") if visible else None
    if gpus is not None and local >= len(gpus):
        raise ValueError(
            f"--virtual-local-rank: local rank {local} has no GPU in CUDA_VISIBLE_DEVICES={visible}"
        )
    return {"LOCAL_RANK": 0, "CUDA_VISIBLE_DEVICES": gpus[local].strip() if gpus else local}
