// What `helm template` printed: documents as they stand there, and the objects in them.
import assert from 'node:assert/strict';
import { parse } from 'yaml';

/** Any Kubernetes object. */
export interface RenderedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: unknown;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly [field: string]: unknown;
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly [Container];
  readonly volumes?: readonly { readonly name: string; readonly [field: string]: unknown }[];
  readonly [field: string]: unknown;
}

export interface Deployment extends RenderedObject {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: { readonly metadata: RenderedObject['metadata']; readonly spec: PodSpec };
    readonly [field: string]: unknown;
  };
}

/** One document, with its object. */
export interface RenderedDocument {
  readonly text: string;
  readonly object: RenderedObject;
}

export class Rendering {
  readonly text: string;
  readonly documents: readonly RenderedDocument[];

  constructor(text: string) {
    this.text = text;
    this.documents = text
      .split(/^---\n/m)
      .filter((part) => part.trim() !== '')
      .map((part) => ({ text: part, object: parse(part) as RenderedObject }));
  }

  get objects(): readonly RenderedObject[] {
    return this.documents.map(({ object }) => object);
  }

  /** The one object of a kind; of those with the name, when there is one. */
  get(kind: string, name?: string): RenderedObject {
    const found = this.list(kind).filter(({ metadata }) => name === undefined || metadata.name === name);
    assert.equal(found.length, 1, `${found.length} objects ${kind} ${name ?? ''}`);
    return found[0]!;
  }

  list(kind: string): readonly RenderedObject[] {
    return this.objects.filter((object) => object.kind === kind);
  }

  get deployment(): Deployment {
    return this.get('Deployment') as Deployment;
  }

  /** The pods of the controller. */
  get pod(): PodSpec {
    return this.deployment.spec.template.spec;
  }

  /** The pod of `helm test`. */
  get testPod(): PodSpec {
    return this.get('Pod')['spec'] as PodSpec;
  }

  get container(): Container {
    return this.pod.containers[0];
  }

  /** The value of a variable of the controller, which is there once. */
  variable(name: string): string | undefined {
    const found = this.container.env.filter((variable) => variable.name === name);
    assert.ok(found.length <= 1, `${name} is there ${found.length} times`);
    return found[0]?.value;
  }
}
