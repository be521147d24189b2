// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A discrete-event simulation of a processor: tasks as state machines under four scheduling policies.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MaxTasks = 48, Mailboxes = 8, MailboxSize = 4, QueueLevels = 3, Horizon = 80000 };

typedef enum { Ready, Running, Sleeping, WaitingSend, WaitingReceive, Waiting, Finished } TaskState;

typedef struct Task Task;
typedef struct Kernel Kernel;

// What a task asks for after a slice of computing.
typedef enum { AskCompute, AskSleep, AskSend, AskReceive, AskLock, AskUnlock, AskExit } Ask;

typedef struct {
  Ask ask;
  int argument;
} Request;

typedef Request (*Behaviour)(Kernel *kernel, Task *task);

struct Task {
  TaskState state;
  Behaviour behaviour;
  int id, step, wakeAt, mailbox, level, share;
  int remaining; // ticks until the next request
  int64_t virtualTime;
  int waited, ran, messages;
  uint32_t seed;
};

typedef struct {
  int items[MailboxSize];
  int head, count;
} Mailbox;

typedef struct {
  const char *name;
  int slice;
  int (*better)(const Task *a, const Task *b); // whether a goes before b
} Policy;

struct Kernel {
  Task tasks[MaxTasks];
  Mailbox mailboxes[Mailboxes];
  const Policy *policy;
  int now, current, lockOwner, switches, alive;
  uint32_t trace;
};

static uint32_t taskRandom(Task *task) {
  task->seed = task->seed * 1103515245u + 12345u;
  return task->seed >> 16 & 0x7fff;
}

static Request request(Ask ask, int argument) { return (Request){ask, argument}; }

static Request producer(Kernel *kernel, Task *task) {
  (void)kernel;
  switch (task->step++ % 3) {
  case 0: return request(AskCompute, 1 + (int)(taskRandom(task) % 6));
  case 1: return request(AskSend, task->id % Mailboxes);
  default: return request(AskSleep, 20 + (int)(taskRandom(task) % 60));
  }
}

static Request consumer(Kernel *kernel, Task *task) {
  (void)kernel;
  if (task->step++ % 2)
    return request(AskCompute, 2 + (int)(taskRandom(task) % 5));
  return request(AskReceive, task->id % Mailboxes);
}

static Request worker(Kernel *kernel, Task *task) {
  (void)kernel;
  if (task->step > 120)
    return request(AskExit, 0);
  switch (task->step++ % 5) {
  case 0: return request(AskCompute, 10 + (int)(taskRandom(task) % 20));
  case 1: return request(AskLock, 0);
  case 2: return request(AskCompute, 1 + (int)(taskRandom(task) % 3));
  case 3: return request(AskUnlock, 0);
  default: return request(AskSleep, 100 + (int)(taskRandom(task) % 400));
  }
}

static Request idler(Kernel *kernel, Task *task) {
  if (kernel->now > Horizon / 2 && task->id % 2)
    return request(AskExit, 0);
  return request(task->step++ % 4 ? AskSleep : AskCompute, 5 + (int)(taskRandom(task) % 50));
}

static int roundRobin(const Task *a, const Task *b) { return a->waited > b->waited; }
static int fairShare(const Task *a, const Task *b) { return a->virtualTime < b->virtualTime; }
static int byLevel(const Task *a, const Task *b) {
  return a->level != b->level ? a->level < b->level : a->waited > b->waited;
}
static int shortest(const Task *a, const Task *b) { return a->remaining < b->remaining; }

static void wakeSleepers(Kernel *kernel) {
  for (int i = 0; i < MaxTasks; i++) {
    Task *task = &kernel->tasks[i];
    if (task->state == Sleeping && task->wakeAt <= kernel->now)
      task->state = Ready;
    else if (task->state == Ready)
      task->waited++;
  }
}

static void wakeWaiters(Kernel *kernel, TaskState state, int mailbox) {
  for (int i = 0; i < MaxTasks; i++)
    if (kernel->tasks[i].state == state && (state == Waiting || kernel->tasks[i].mailbox == mailbox)) {
      kernel->tasks[i].state = Ready;
      kernel->tasks[i].remaining = 0;
    }
}

static int mailboxPut(Mailbox *box, int item) {
  if (box->count == MailboxSize)
    return 0;
  box->items[(box->head + box->count++) % MailboxSize] = item;
  return 1;
}

static int mailboxTake(Mailbox *box, int *item) {
  if (box->count == 0)
    return 0;
  *item = box->items[box->head];
  box->head = (box->head + 1) % MailboxSize;
  box->count--;
  return 1;
}

// A request that must wait is asked again on waking: its step is taken back.
static void block(Task *task, TaskState state, int mailbox) {
  task->state = state;
  task->mailbox = mailbox;
  task->step--;
}

static void handleRequest(Kernel *kernel, Task *task, Request r) {
  Mailbox *box = &kernel->mailboxes[r.argument % Mailboxes];
  int item = kernel->now;
  switch (r.ask) {
  case AskCompute: task->remaining = r.argument; break;
  case AskSleep:
    task->state = Sleeping;
    task->wakeAt = kernel->now + r.argument;
    break;
  case AskSend:
    if (mailboxPut(box, item))
      wakeWaiters(kernel, WaitingReceive, r.argument);
    else
      block(task, WaitingSend, r.argument);
    break;
  case AskReceive:
    if (mailboxTake(box, &item)) {
      task->messages += 1 + (kernel->now - item > 100);
      wakeWaiters(kernel, WaitingSend, r.argument);
    } else {
      block(task, WaitingReceive, r.argument);
    }
    break;
  case AskLock:
    if (kernel->lockOwner < 0)
      kernel->lockOwner = task->id;
    else
      block(task, Waiting, 0);
    break;
  case AskUnlock:
    kernel->lockOwner = -1;
    wakeWaiters(kernel, Waiting, 0);
    break;
  case AskExit:
    task->state = Finished;
    kernel->alive--;
    break;
  }
}

static int pickNext(const Kernel *kernel) {
  int best = -1;
  for (int i = 0; i < MaxTasks; i++)
    if (kernel->tasks[i].state == Ready &&
        (best < 0 || kernel->policy->better(&kernel->tasks[i], &kernel->tasks[best])))
      best = i;
  return best;
}

static void runSlice(Kernel *kernel, Task *task) {
  int left = kernel->policy->slice;
  task->state = Running;
  task->waited = 0;
  while (task->state == Running && left > 0) {
    if (task->remaining == 0)
      handleRequest(kernel, task, task->behaviour(kernel, task));
    if (task->state != Running)
      break;
    task->ran++;
    task->virtualTime += 1024 / task->share;
    task->remaining -= task->remaining > 0;
    left--;
    kernel->now++;
    wakeSleepers(kernel);
  }
  if (left == 0 && task->level < QueueLevels - 1)
    task->level++;
  else if (task->state != Running)
    task->level = 0;
  if (task->state == Running)
    task->state = Ready;
}

static void kernelInit(Kernel *kernel, const Policy *policy) {
  static const Behaviour Kinds[] = {producer, consumer, worker, idler};
  memset(kernel, 0, sizeof *kernel);
  kernel->policy = policy;
  kernel->lockOwner = -1;
  kernel->alive = MaxTasks;
  for (int i = 0; i < MaxTasks; i++)
    kernel->tasks[i] =
        (Task){.behaviour = Kinds[i / Mailboxes % 4], .id = i, .share = 1 + i % 4, .seed = (uint32_t)i * 977 + 5};
}

void simulate(Kernel *kernel) {
  kernel->current = -1;
  while (kernel->now < Horizon && kernel->alive > 0) {
    int next = pickNext(kernel);
    if (next < 0) {
      kernel->now++;
      wakeSleepers(kernel);
      continue;
    }
    kernel->switches += next != kernel->current;
    kernel->current = next;
    kernel->trace = kernel->trace * 31 + (uint32_t)next;
    runSlice(kernel, &kernel->tasks[next]);
  }
}

int main(void) {
  static const Policy Policies[] = {
      {"robin", 5, roundRobin}, {"fair", 3, fairShare}, {"levels", 4, byLevel}, {"short", 6, shortest}};
  static Kernel kernel;
  for (size_t p = 0; p < sizeof Policies / sizeof *Policies; p++) {
    int ran = 0, messages = 0;
    kernelInit(&kernel, &Policies[p]);
    simulate(&kernel);
    for (int i = 0; i < MaxTasks; i++) {
      ran += kernel.tasks[i].ran;
      messages += kernel.tasks[i].messages;
    }
    printf("%s switches %d ran %d messages %d alive %d trace %08x\n", Policies[p].name, kernel.switches, ran, messages,
           kernel.alive, kernel.trace);
  }
  return 0;
}
